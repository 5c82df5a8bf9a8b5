// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/os.hpp: the device model in place of an operating system.
#pragma once

#include <zrt/backend/pm4/emulator/kfd/driver.hpp>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// What a process holds.
struct LiveHandles {
  std::size_t files = 0;
  std::size_t ranges = 0;  ///< of addresses
  std::size_t doorbells = 0;
  std::size_t buffers = 0;
  std::size_t queues = 0;
  std::size_t events = 0;
  [[nodiscard]] constexpr bool none() const noexcept {
    return files + ranges + doorbells + buffers + queues + events == 0;
  }
};

/// A machine with one card and one process, whose system calls these are.
///
/// Nothing in it has a thread: queues execute when the process pauses or waits, and time passes with each look at the
/// clock. It stays where it was made, and one thread uses it at a time.
class EmulatedOs {
 public:
  explicit EmulatedOs(const Card& card = {}, GridHook grids = {}, Allocator allocator = system_allocator()) noexcept
      : card_(card),
        allocator_(allocator),
        process_(allocator),
        files_(allocator),
        driver_(card_, process_, refuse_, grids, allocator) {}
  EmulatedOs(const EmulatedOs&) = delete;
  EmulatedOs& operator=(const EmulatedOs&) = delete;

  [[nodiscard]] SystemValue open(std::string_view path, bool) noexcept {
    if (const SystemValue r = count(); r != 0) return r;
    OpenFile file(allocator_);
    if (path == "/dev/kfd") {
      file.kind = FileKind::calls;
    } else if (path == Name::of("/dev/dri/renderD", card_.render_minor).view()) {
      file.kind = FileKind::render;
    } else if (path.starts_with(kfd::kTopologyNodes)) {
      const auto written = write_topology_file(card_, path.substr(kfd::kTopologyNodes.size()), file.text);
      if (!written) return refuse_(ENOMEM, written.error().text());
      if (*written) file.kind = FileKind::text;
    }
    if (file.kind == FileKind::closed) return refuse_(ENOENT, "there is no file ", path);
    file.serial = ++opened_;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].kind != FileKind::closed) continue;
      files_[i] = std::move(file);
      return static_cast<SystemValue>(i) + kFirstFile;
    }
    if (!files_.push_back(std::move(file))) return refuse_(ENOMEM, "the model has no memory");
    return static_cast<SystemValue>(files_.size()) - 1 + kFirstFile;
  }

  SystemValue close(int number) noexcept {
    OpenFile* const file = find(number);
    // A file is gone whatever close() says.
    if (file != nullptr) *file = OpenFile(allocator_);
    if (const SystemValue r = count(); r != 0) return r;
    return file != nullptr ? 0 : refuse_(EBADF, "file ", number, " is not open");
  }

  [[nodiscard]] SystemValue read(int number, std::span<std::byte> to) noexcept {
    if (const SystemValue r = count(); r != 0) return r;
    OpenFile* const file = find(number);
    if (file == nullptr || file->kind != FileKind::text) return refuse_(EBADF, "file ", number, " has no text");
    const std::string_view rest = file->text.view().substr(file->at);
    const std::size_t size = rest.size() < to.size() ? rest.size() : to.size();
    if (size != 0) std::memcpy(to.data(), rest.data(), size);
    file->at += size;
    return static_cast<SystemValue>(size);
  }

  [[nodiscard]] SystemValue ioctl(int number, std::uint32_t request, void* argument) noexcept {
    if (const SystemValue r = count(); r != 0) return r;
    const OpenFile* const file = find(number);
    if (file == nullptr) return refuse_(EBADF, "file ", number, " is not open");
    if (file->kind != FileKind::calls) return refuse_(ENOTTY, "file ", number, " takes no calls of KFD");
    return driver_.call(request, argument, [&](int render) -> std::uint64_t {
      const OpenFile* const other = find(render);
      return other != nullptr && other->kind == FileKind::render ? other->serial : 0;
    });
  }

  [[nodiscard]] SystemValue map(const MapRequest& m) noexcept {
    if (const SystemValue r = count(); r != 0) return r;
    if (m.bytes == 0 || m.bytes % kPageBytes != 0 || m.address % kPageBytes != 0)
      return refuse_(EINVAL, "mmap: ", m.bytes, " bytes at ", hex(m.address).view(), ", whole pages expected");
    if (m.file < 0) {
      if (m.address != 0 || m.protection != Protection::none)
        return refuse_(EINVAL, "mmap: memory of the process alone is modelled as addresses without access");
      const std::uint64_t at = process_.reserve(m.bytes);
      if (at == 0) return refuse_(ENOMEM, "mmap: the model has no memory for ", m.bytes, " bytes");
      return static_cast<SystemValue>(at);
    }
    const OpenFile* const file = find(m.file);
    if (file == nullptr || file->kind == FileKind::text) return refuse_(EBADF, "mmap: file ", m.file);
    if (m.protection != Protection::read_write) return refuse_(EINVAL, "mmap: of a device without access");
    if (file->kind == FileKind::render) return driver_.buffers().map_for_host(m);
    const SystemValue at = driver_.queues().map_doorbells(m);
    if (at > 0) ++doorbells_;
    return at;
  }

  SystemValue unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
    if (const SystemValue r = count(); r != 0) return r;
    if (driver_.queues().are_doorbells(address)) {
      if (bytes != Queues::kDoorbellBytes || doorbells_ == 0)
        return refuse_(EINVAL, "munmap: ", bytes, " bytes are not the doorbells");
      --doorbells_;
      return 0;
    }
    if (driver_.buffers().lives_in(address, bytes))
      return refuse_(EINVAL, "munmap: memory of the GPU still lives at ", hex(address).view());
    if (!process_.release(address, bytes))
      return refuse_(EINVAL, "munmap: ", bytes, " bytes at ", hex(address).view(), " are no mapping");
    return 0;
  }

  [[nodiscard]] std::uint64_t now() noexcept { return time_ += 1000; }
  /// Lets queues execute. Where none does anything, more time passes: nobody waits for a queue that hangs.
  void pause() noexcept {
    if (!driver_.queues().advance()) time_ += 100'000;
  }

  /// Makes the system call after so many others fail with that errno, once; 1 is the next one.
  void fail_call(std::uint64_t number, int error) noexcept {
    fail_at_ = calls_ + number;
    fail_with_ = error;
  }

  /// Resets the card: what its queues had to do and what video memory held is lost.
  void reset_device() noexcept { driver_.queues().reset(); }
  /// The next fence that a queue comes to is not written.
  void lose_next_fence() noexcept { driver_.queues().lose_next_fence(); }
  /// What the model found wrong with the packets of the last queue that stopped; a card would only hang.
  [[nodiscard]] std::string_view complaint() const noexcept { return driver_.queues().stopped(); }

  /// System calls so far.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  /// Why the last call was refused, in words.
  [[nodiscard]] std::string_view refusal() const noexcept { return refuse_.reason(); }
  [[nodiscard]] const Queues& queues() const noexcept { return driver_.queues(); }
  [[nodiscard]] std::uint64_t available_video() const noexcept { return driver_.buffers().available(); }

  [[nodiscard]] LiveHandles live() const noexcept {
    LiveHandles live{.ranges = process_.ranges(),
                     .doorbells = doorbells_,
                     .buffers = driver_.buffers().count(),
                     .queues = driver_.queues().count(),
                     .events = driver_.events().count()};
    for (const OpenFile& file : files_) live.files += file.kind != FileKind::closed;
    return live;
  }

 private:
  enum class FileKind : std::uint8_t { closed, calls, render, text };
  struct OpenFile {
    explicit OpenFile(const Allocator& allocator) noexcept : text(allocator) {}
    FileKind kind = FileKind::closed;
    std::uint64_t serial = 0;
    String text;
    std::size_t at = 0;
  };
  // As if the process had its three usual ones.
  static constexpr int kFirstFile = 3;

  [[nodiscard]] SystemValue count() noexcept {
    ++calls_;
    if (calls_ != fail_at_) return 0;
    return refuse_(fail_with_, "the failure that was asked for");
  }
  [[nodiscard]] OpenFile* find(int number) noexcept {
    if (number < kFirstFile || static_cast<std::size_t>(number - kFirstFile) >= files_.size()) return nullptr;
    OpenFile* const file = &files_[static_cast<std::size_t>(number - kFirstFile)];
    return file->kind == FileKind::closed ? nullptr : file;
  }

  Card card_;
  Allocator allocator_;
  Refusal refuse_{};
  ProcessMemory process_;
  Vector<OpenFile> files_;
  KfdDriver driver_;
  std::size_t doorbells_ = 0;
  std::uint64_t opened_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t fail_at_ = 0;
  int fail_with_ = 0;
  std::uint64_t time_ = 0;
};
static_assert(OperatingSystem<EmulatedOs>);

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
