// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/process_memory.hpp: the address ranges that a process holds in the device model.
#pragma once

#include <zrt/backend/pm4/heap.hpp>
#include <zrt/core/allocator.hpp>
#include <zrt/core/vector.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Ranges of whole pages, each with real memory of the host behind it, so that an address is the same for the host and
/// for the modelled GPU.
class ProcessMemory {
 public:
  struct Range {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };

  explicit ProcessMemory(const Allocator& allocator) noexcept : allocator_(allocator), ranges_(allocator) {}
  ProcessMemory(const ProcessMemory&) = delete;
  ProcessMemory& operator=(const ProcessMemory&) = delete;
  ~ProcessMemory() {
    for (const Range& range : ranges_) give_back(range);
  }

  /// A new range; 0 without memory. `bytes` is a multiple of a page.
  [[nodiscard]] std::uint64_t reserve(std::uint64_t bytes) noexcept {
    void* const memory = allocator_.allocate(allocator_.context, static_cast<std::size_t>(bytes), pm4::kPageBytes);
    if (memory == nullptr) return 0;
    const Range range{static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)), bytes};
    if (!ranges_.push_back(range)) {
      give_back(range);
      return 0;
    }
    return range.address;
  }

  /// Gives the range that begins there and has that size back; false where there is none.
  [[nodiscard]] bool release(std::uint64_t address, std::uint64_t bytes) noexcept {
    for (Range& range : ranges_) {
      if (range.address != address || range.bytes != bytes) continue;
      give_back(range);
      range = ranges_.back();
      ranges_.pop_back();
      return true;
    }
    return false;
  }

  /// Whether one range has all those bytes.
  [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const Range& range : ranges_)
      if (address >= range.address && address - range.address <= range.bytes &&
          bytes <= range.bytes - (address - range.address))
        return true;
    return false;
  }

  /// The bytes of a range that is held.
  [[nodiscard]] static Span<std::byte> bytes(std::uint64_t address, std::uint64_t bytes) noexcept {
    return {reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(bytes)};
  }

  [[nodiscard]] std::size_t ranges() const noexcept { return ranges_.size(); }

 private:
  void give_back(const Range& range) noexcept {
    allocator_.release(allocator_.context, reinterpret_cast<void*>(static_cast<std::uintptr_t>(range.address)),
                       static_cast<std::size_t>(range.bytes), pm4::kPageBytes);
  }

  Allocator allocator_;
  Vector<Range> ranges_;
};

}  // namespace zrt::inline ZRT_ABI::emulator
