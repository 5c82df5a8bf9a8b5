// SPDX-License-Identifier: Apache-2.0
// zrt/ops/window.hpp: a window that slides along an axis.
#pragma once

#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// One axis of a sliding window.
///
/// A window of w elements with dilation d spans (w - 1) * d + 1; base dilation b puts b - 1 holes
/// between the elements that it slides over, `low` and `high` are padding before and after them.
struct WindowAxis {
  std::uint32_t window = 1;
  std::uint32_t stride = 1;
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  std::uint32_t base_dilation = 1;
  std::uint32_t dilation = 1;

  /// What `source` gives for padding and holes.
  static constexpr std::uint64_t kPadding = ~std::uint64_t{0};

  /// The element of an axis of `extent` that element `w` of the window at place `at` is.
  [[nodiscard]] constexpr std::uint64_t source(std::uint64_t at, std::uint64_t w, std::uint64_t extent) const noexcept {
    const std::uint64_t padded = at * stride + w * dilation;
    if (padded < low || (padded - low) % base_dilation != 0) return kPadding;
    const std::uint64_t element = (padded - low) / base_dilation;
    return element < extent ? element : kPadding;
  }
};

/// How many places the window has along an axis of extent `in`: (padded - span) / stride + 1, or 0 where
/// it does not fit. An extent that follows the step must be left as it is.
template <class O> [[nodiscard]] constexpr Result<Dim> window_places(Dim in, const WindowAxis& w) noexcept {
  if (w.window == 0 || w.stride == 0 || w.base_dilation == 0 || w.dilation == 0)
    return bad_params<O>("a window, stride or dilation is 0, expected 1 or more");
  if (in.symbol != 0) {
    if (w.window == 1 && w.stride == 1 && w.low == 0 && w.high == 0 && w.base_dilation == 1) return in;
    return bad_shape<O>("x", "a constant extent where a window slides", Shape{in});
  }
  const std::uint64_t spread = in.extent == 0 ? 0 : (in.extent - std::uint64_t{1}) * w.base_dilation + 1;
  const std::uint64_t span = (w.window - std::uint64_t{1}) * w.dilation + 1;
  const CheckedSize padded = CheckedSize(spread) + CheckedSize(w.low) + CheckedSize(w.high);
  const std::uint64_t places = padded.raw() < span ? 0 : (padded.raw() - span) / w.stride + 1;
  if (!padded.ok() || places > 0xffffffffu)
    return fail(Errc::size_overflow, O::name, ": an extent of the result does not fit 32 bits");
  return Dim(static_cast<std::uint32_t>(places));
}

}  // namespace zrt::inline ZRT_ABI::ops
