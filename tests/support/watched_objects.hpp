// SPDX-License-Identifier: Apache-2.0
// tests/support/watched_objects.hpp: which objects code touches, by pages that nobody may read.
#pragma once

#include <zrt/core/allocator.hpp>

#include <csignal>
#include <cstddef>
#include <sys/mman.h>
#include <unistd.h>

namespace zrt::test {

/// Gives every object of one size a page of its own, `most` of them, and counts those that are read or written after
/// `watch`. One at a time in a process; it outlives what uses its hook, from one thread.
class WatchedObjects {
 public:
  WatchedObjects(std::size_t bytes, std::size_t most)
      : bytes_(bytes), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))), most_(bytes <= page_ ? most : 0) {
    void* const memory =
        mmap(nullptr, page_ * most_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    pages_ = static_cast<std::byte*>(memory);
    active_ = this;
    struct sigaction action{};
    action.sa_sigaction = take_touch;
    action.sa_flags = SA_SIGINFO;
    (void)sigaction(SIGSEGV, &action, &before_);
  }
  WatchedObjects(const WatchedObjects&) = delete;
  WatchedObjects& operator=(const WatchedObjects&) = delete;
  ~WatchedObjects() {
    if (pages_ == nullptr) return;
    (void)sigaction(SIGSEGV, &before_, nullptr);
    active_ = nullptr;
    munmap(pages_, page_ * most_);
  }

  [[nodiscard]] Allocator allocator() noexcept {
    return {this,
            [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
              auto* const self = static_cast<WatchedObjects*>(context);
              if (bytes == self->bytes_ && self->pages_ != nullptr && self->given_ < self->most_)
                return self->pages_ + self->page_ * self->given_++;
              const Allocator system = system_allocator();
              return system.allocate(system.context, bytes, alignment);
            },
            [](void* context, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
              if (static_cast<WatchedObjects*>(context)->holds(memory)) return;
              const Allocator system = system_allocator();
              system.release(system.context, memory, bytes, alignment);
            }};
  }

  /// How many objects have pages of their own.
  [[nodiscard]] std::size_t count() const noexcept { return given_; }
  void watch() noexcept {
    touched_ = 0;
    (void)mprotect(pages_, page_ * given_, PROT_NONE);
  }
  /// Objects since `watch`.
  [[nodiscard]] std::size_t touched() const noexcept { return touched_; }

 private:
  [[nodiscard]] bool holds(const void* memory) const noexcept {
    const auto* const at = static_cast<const std::byte*>(memory);
    return pages_ != nullptr && at >= pages_ && at < pages_ + page_ * most_;
  }
  static void take_touch(int, siginfo_t* info, void*) {
    WatchedObjects& self = *active_;
    if (!self.holds(info->si_addr)) {
      (void)sigaction(SIGSEGV, &self.before_, nullptr);  // a fault of its own, which comes again
      return;
    }
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(info->si_addr) - self.pages_);
    (void)mprotect(self.pages_ + offset / self.page_ * self.page_, self.page_, PROT_READ | PROT_WRITE);
    self.touched_ = self.touched_ + 1;
  }

  static inline WatchedObjects* active_ = nullptr;
  std::size_t bytes_, page_, most_;
  std::byte* pages_ = nullptr;
  std::size_t given_ = 0;
  volatile std::size_t touched_ = 0;
  struct sigaction before_{};
};

}  // namespace zrt::test
