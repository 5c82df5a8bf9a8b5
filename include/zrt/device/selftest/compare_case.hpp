// SPDX-License-Identifier: Apache-2.0
// zrt/device/selftest/compare_case.hpp: what a kernel left of a case's buffer, held to what it must have left.
#pragma once

#include <zrt/core/half.hpp>
#include <zrt/core/little_endian.hpp>
#include <zrt/device/selftest/kernel_case.hpp>

#include <limits>
#include <optional>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::device {

namespace detail {

/// Element `i` of floats.
[[nodiscard]] inline float real_of(Span<const std::byte> bytes, DType dtype, std::size_t i) noexcept {
  if (dtype == DType::f32) return std::bit_cast<float>(read_little<std::uint32_t>(bytes.data() + i * 4));
  const auto bits = read_little<std::uint16_t>(bytes.data() + i * 2);
  return dtype == DType::f16 ? to_f32(Half{bits}) : to_f32(BFloat16{bits});
}
/// How far a rounded value of these may be off where the one that it is rounded from lies on the other side of a tie.
[[nodiscard]] constexpr float rounding_of(DType dtype) noexcept {
  return dtype == DType::f16 ? 0x1p-10f : dtype == DType::bf16 ? 0x1p-7f : 0.0f;
}
/// A number without its sign.
[[nodiscard]] constexpr float magnitude(float x) noexcept { return x < 0.0f ? -x : x; }

}  // namespace detail

/// The first element that is not what it must be; none where `found` will do. With a bound of 0 all bits count. Else
/// floats may be off by `bound` times the largest of the buffer, and signed bytes, which round floats, by one.
[[nodiscard]] inline std::optional<std::size_t> first_wrong(const CaseBuffer& buffer, Span<const std::byte> found,
                                                            float bound) noexcept {
  const Span<const std::byte> want = buffer.after;
  const bool real = buffer.dtype == DType::f32 || buffer.dtype == DType::f16 || buffer.dtype == DType::bf16;
  if (bound == 0.0f || (!real && buffer.dtype != DType::si8)) {
    for (std::size_t i = 0; i < want.size(); ++i)
      if (found[i] != want[i]) return i;
    return std::nullopt;
  }
  if (!real) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      const int off = static_cast<std::int8_t>(found[i]) - static_cast<std::int8_t>(want[i]);
      if (off < -1 || off > 1) return i;
    }
    return std::nullopt;
  }
  const std::size_t count = want.size() / info(buffer.dtype).block_bytes;
  float largest = 0.0f;
  for (std::size_t i = 0; i < count; ++i) {
    const float one = detail::magnitude(detail::real_of(want, buffer.dtype, i));
    if (one > largest && one <= std::numeric_limits<float>::max()) largest = one;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const float is = detail::real_of(found, buffer.dtype, i), should = detail::real_of(want, buffer.dtype, i);
    const bool alike = is == should || (is != is && should != should) ||
                       detail::magnitude(is - should) <= (bound + detail::rounding_of(buffer.dtype)) * largest;
    if (!alike) return i;
  }
  return std::nullopt;
}

}  // namespace zrt::inline ZRT_ABI::device

ZRT_LOAD_TIME_END
