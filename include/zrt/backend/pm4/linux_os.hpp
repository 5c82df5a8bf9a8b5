// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/linux_os.hpp: the system calls of Linux for a transport.
#pragma once

#include <zrt/backend/pm4/os.hpp>
#include <zrt/core/hooks.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/core/name.hpp>

#include <array>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace zrt::inline ZRT_ABI::pm4 {

/// Each member but open_once() and event_page() is one system call; all may be called from any thread.
class LinuxOs {
 public:
  LinuxOs() = default;
  LinuxOs(const LinuxOs&) = delete;
  LinuxOs& operator=(const LinuxOs&) = delete;
  ~LinuxOs() {
    for (const Kept& kept : kept_)
      if (kept.file >= 0) close(kept.file);
  }

  [[nodiscard]] SystemValue open(std::string_view path, bool writes) noexcept {
    char terminated[256];
    if (path.size() >= sizeof terminated) return -ENAMETOOLONG;
    std::memcpy(terminated, path.data(), path.size());
    terminated[path.size()] = '\0';
    return checked(::open(terminated, (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC));
  }
  [[nodiscard]] SystemValue open_once(std::string_view path) noexcept {
    const MutexLock lock(mutex_);
    for (Kept& kept : kept_) {
      if (kept.file >= 0 && kept.path.view() == path) return kept.file;
      if (kept.file >= 0) continue;
      const SystemValue file = open(path, true);
      if (file >= 0) kept = {Name(path), static_cast<int>(file)};
      return file;
    }
    return -EMFILE;
  }
  SystemValue close(int file) noexcept { return checked(::close(file)); }
  [[nodiscard]] SystemValue read(int file, Span<std::byte> to) noexcept {
    return checked(::read(file, to.data(), to.size()));
  }
  [[nodiscard]] SystemValue ioctl(int file, std::uint32_t request, void* argument) noexcept {
    return checked(::ioctl(file, static_cast<unsigned long>(request), argument));
  }
  [[nodiscard]] SystemValue map(const MapRequest& m) noexcept {
    const int protection = m.protection == Protection::none ? PROT_NONE : PROT_READ | PROT_WRITE;
    const int sharing = m.file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    void* const at =
        ::mmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(m.address)), static_cast<std::size_t>(m.bytes),
               protection, sharing | (m.address != 0 ? MAP_FIXED : 0), m.file, static_cast<off_t>(m.offset));
    if (at == MAP_FAILED) return -errno;
    return static_cast<SystemValue>(reinterpret_cast<std::uintptr_t>(at));
  }
  SystemValue unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
    return checked(
        ::munmap(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(bytes)));
  }
  [[nodiscard]] EventPage& event_page() noexcept { return event_page_; }
  [[nodiscard]] std::uint64_t now() noexcept { return monotonic_clock()(); }
  void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
  }

 private:
  struct Kept {
    Name path{};
    int file = -1;
  };

  [[nodiscard]] static SystemValue checked(std::int64_t value) noexcept { return value < 0 ? -errno : value; }

  EventPage event_page_{};
  Mutex mutex_{};
  // One for each card that the process uses.
  std::array<Kept, 16> kept_{};
};
static_assert(OperatingSystem<LinuxOs>);

}  // namespace zrt::inline ZRT_ABI::pm4
