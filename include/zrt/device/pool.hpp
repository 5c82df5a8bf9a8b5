// SPDX-License-Identifier: Apache-2.0
// zrt/device/pool.hpp: one piece of a device's memory, handed out in parts.
#pragma once

#include <zrt/core/checked.hpp>
#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <bit>
#include <utility>

namespace zrt::inline ZRT_ABI::device {

/// A part of a pool's memory.
struct PoolPart {
  std::uint64_t address = 0;
  Span<std::byte> bytes{};  ///< for the host; empty where it does not see the memory
};

/// Hands one allocation out from front to back; move-only. The device outlives it, and it outlives its parts.
///
/// What lives as long as something else, like all weights of a class, comes from one pool and goes with it: there is no
/// giving back of single parts.
template <class Memory> class MemoryPool {
 public:
  explicit MemoryPool(Memory memory) noexcept : memory_(std::move(memory)) {}

  /// The next `bytes` at a multiple of `alignment`, a power of two up to 4096.
  ///
  /// Errors: Errc::invalid_argument for another alignment; capacity_exceeded where so much is not left.
  [[nodiscard]] Result<PoolPart> take(std::uint64_t bytes, std::uint64_t alignment) noexcept {
    if (!std::has_single_bit(alignment) || alignment > kMostAlignment)
      return fail(Errc::invalid_argument, "a part of a pool at a multiple of ", alignment,
                  ", a power of two up to 4096 expected");
    const CheckedSize begin = CheckedSize(used_).aligned(alignment), end = begin + bytes;
    if (!end.ok() || end.raw() > memory_.bytes())
      return fail(Errc::capacity_exceeded, "a part of ", bytes, " bytes from a pool with ", left(), " of ",
                  memory_.bytes(), " left");
    used_ = end.raw();
    const Span<std::byte> seen = memory_.span();
    return PoolPart{
        memory_.address() + begin.raw(),
        seen.empty() ? seen : seen.subspan(static_cast<std::size_t>(begin.raw()), static_cast<std::size_t>(bytes))};
  }

  [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
  [[nodiscard]] std::uint64_t left() const noexcept { return memory_.bytes() - used_; }

 private:
  static constexpr std::uint64_t kMostAlignment = 4096;

  Memory memory_;
  std::uint64_t used_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::device
