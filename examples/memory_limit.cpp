// SPDX-License-Identifier: Apache-2.0
// examples/memory_limit.cpp: an allocator of the host's with a limit; running out of memory is an error, never an end.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <atomic>
#include <iostream>

namespace {

/// Serves memory up to a limit. It outlives every engine that uses it.
class Budget {
 public:
  explicit Budget(std::size_t bytes) : left_(bytes) {}

  zrt::Allocator hook() {
    zrt::Allocator hook;
    hook.context = this;
    // Any thread that calls into zrt may call these two; they must not throw.
    hook.allocate = [](void* self, std::size_t bytes, std::size_t alignment) noexcept -> void* {
      auto& left = static_cast<Budget*>(self)->left_;
      std::size_t before = left.load();
      do {
        if (before < bytes) return nullptr;  // the call that needed it returns Errc::out_of_memory
      } while (!left.compare_exchange_weak(before, before - bytes));
      void* memory = zrt::system_allocator().allocate(nullptr, bytes, alignment);
      if (memory == nullptr) left += bytes;
      return memory;
    };
    hook.release = [](void* self, void* memory, std::size_t bytes, std::size_t alignment) noexcept {
      static_cast<Budget*>(self)->left_ += bytes;
      zrt::system_allocator().release(nullptr, memory, bytes, alignment);
    };
    return hook;
  }
  std::size_t left() const { return left_; }

 private:
  std::atomic<std::size_t> left_;
};

}  // namespace

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "examples/models/bard-q8_0.gguf";
  constexpr std::size_t kLimit = std::size_t{64} << 20;
  Budget budget(kLimit);
  const auto open = [&](std::uint32_t slots) {
    return zrt::Engine<zrt::CpuBackend>::open(path, {.slots = slots, .allocator = budget.hook()});
  };
  const auto large = open(4096);
  std::cout << "4096 slots: " << (large ? "open" : large.error().text()) << '\n';
  {
    const auto small = open(1);
    if (!small) {
      std::cerr << small.error().text() << '\n';
      return 1;
    }
    std::cout << "1 slot: " << kLimit - budget.left() << " bytes, most of them packed weights\n";
  }
  const bool typed = !large && large.error().code() == zrt::Errc::out_of_memory;
  return typed && budget.left() == kLimit ? 0 : 1;  // everything came back
}
