// SPDX-License-Identifier: Apache-2.0
// tests/tools/modelled_system.cpp: system calls of this process that meet the device model in place of a card.
//
// Linked with the objects of the program zrt, so that the program as it is, its LinuxOs included, finds a card where the
// machine has none. ZRT_MODELLED_CARD names it by its processor, ZRT_MODELLED_CARD=gfx1201; without it nothing changes.
#include <zrt/backend/pm4/kfd/abi.hpp>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <pm4_model.hpp>
#include <string_view>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace {

namespace pm4 = zrt::pm4;

// Far from the numbers of files that the process has.
constexpr int kFirstFile = 1 << 20;

struct Range {
  std::uint64_t address;
  std::uint64_t bytes;
};

/// The card and what the process has of it; the model has one thread, which is the program's.
struct System {
  explicit System(const pm4::TargetFacts* target) : card({.target = target, .kernel = zrt::emulator::kLinux6_16}) {}

  engines::ModelledCard card;
  std::vector<Range> mapped{};
};

/// Null without ZRT_MODELLED_CARD.
System* find_system() {
  static System* const system = []() -> System* {
    const char* const name = std::getenv("ZRT_MODELLED_CARD");
    return name == nullptr ? nullptr : new System(pm4::find_target(name));
  }();
  return system;
}
System* system_made = nullptr;
thread_local bool inside = false;
/// The thread that opened the card. Workers, which look at the clock at any time, are not of the model.
thread_local bool owns_card = false;

/// The model, for the time of one call of it; what it does itself goes to the system.
class Entered {
 public:
  explicit Entered(System* system) : system_(inside || !owns_card ? nullptr : system) {
    inside = inside || system_ != nullptr;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  ~Entered() {
    if (system_ != nullptr) inside = false;
  }
  explicit operator bool() const { return system_ != nullptr; }
  System& operator*() const { return *system_; }
  zrt::emulator::EmulatedOs* operator->() const { return &system_->card.model(); }

 private:
  System* system_;
};

/// A value as libc gives it.
template <class T> T as_libc(pm4::SystemValue value) {
  if (value >= 0) return static_cast<T>(value);
  errno = static_cast<int>(-value);
  return static_cast<T>(-1);
}

bool is_of_card(std::string_view path) {
  return path == "/dev/kfd" || path.starts_with("/dev/dri/renderD") || path.starts_with(pm4::kfd::kTopologyNodes);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  if (is_of_card(path)) {
    owns_card = true;
    if (Entered card{system_made = find_system()}) {
      const pm4::SystemValue file = card->open(path, (flags & O_ACCMODE) != O_RDONLY);
      return as_libc<int>(file < 0 ? file : file + kFirstFile);
    }
  }
  std::va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int close(int file) {
  if (file < kFirstFile) return static_cast<int>(syscall(SYS_close, file));
  return as_libc<int>(Entered(system_made)->close(file - kFirstFile));
}

ssize_t read(int file, void* to, std::size_t bytes) {
  if (file < kFirstFile) return syscall(SYS_read, file, to, bytes);
  return as_libc<ssize_t>(Entered(system_made)->read(file - kFirstFile, {static_cast<std::byte*>(to), bytes}));
}

int ioctl(int file, unsigned long request, ...) noexcept {
  std::va_list more;
  va_start(more, request);
  void* const argument = va_arg(more, void*);
  va_end(more);
  if (file < kFirstFile) return static_cast<int>(syscall(SYS_ioctl, file, request, argument));
  // The one argument that names a file.
  auto* const acquire = static_cast<pm4::kfd::AcquireVm*>(request == pm4::kfd::kAcquireVm ? argument : nullptr);
  if (acquire != nullptr) acquire->drm_fd -= kFirstFile;
  const Entered card(system_made);
  const int value = as_libc<int>(card->ioctl(file - kFirstFile, static_cast<std::uint32_t>(request), argument));
  if (acquire != nullptr) acquire->drm_fd += kFirstFile;
  return value;
}

void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  const bool addresses = file < 0 && protection == PROT_NONE && (flags & MAP_NORESERVE) != 0;
  if (addresses || file >= kFirstFile)
    if (Entered card{system_made}) {
      const pm4::SystemValue mapped =
          card->map({.address = reinterpret_cast<std::uintptr_t>(at),
                     .bytes = bytes,
                     .protection = protection == PROT_NONE ? pm4::Protection::none : pm4::Protection::read_write,
                     .file = file < 0 ? file : file - kFirstFile,
                     .offset = static_cast<std::uint64_t>(offset)});
      if (mapped < 0) return reinterpret_cast<void*>(as_libc<std::intptr_t>(mapped));
      if (at == nullptr) (*card).mapped.push_back({static_cast<std::uint64_t>(mapped), bytes});
      return reinterpret_cast<void*>(static_cast<std::uintptr_t>(mapped));
    }
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}

int munmap(void* at, std::size_t bytes) noexcept {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at));
  if (Entered card{system_made}) {
    std::vector<Range>& mapped = (*card).mapped;
    for (Range& range : mapped) {
      if (range.address != address || range.bytes != bytes) continue;
      const pm4::SystemValue done = card->unmap(address, bytes);
      if (done >= 0) {
        range = mapped.back();
        mapped.pop_back();
      }
      return as_libc<int>(done);
    }
  }
  return static_cast<int>(syscall(SYS_munmap, at, bytes));
}

// Whoever waits for a fence looks at the clock: a card would go on meanwhile.
int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (Entered card{system_made}) card->pause();
  return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
}

}  // extern "C"
