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

/// Where the attributes of an op's window stand in its list.
struct WindowFields {
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::size_t window, strides, low, high;
  std::size_t base_dilation;  ///< kNone: 1
  std::size_t dilation;
};

/// Each list has an entry for each of `axes` axes; windows, strides and dilations are 1 or more.
template <class D>
[[nodiscard]] constexpr Result<void> check_windows(const RuleCall<D>& c, const WindowFields& f,
                                                   std::size_t axes) noexcept {
  for (const std::size_t field : {f.window, f.strides, f.base_dilation, f.dilation})
    if (field != WindowFields::kNone)
      if (auto r = c.per_axis(field, axes, 1); !r) return r;
  for (const std::size_t field : {f.low, f.high})
    if (auto r = c.per_axis(field, axes, 0); !r) return r;
  return {};
}

/// How many places window `i` has along an axis of extent `in`: (padded - span) / stride + 1, or 0 where it does not
/// fit. An extent that is not known is left as it is, or becomes one of which nothing is known.
template <class D>
[[nodiscard]] constexpr Result<D> window_places(const RuleCall<D>& c, const WindowFields& f, std::size_t i,
                                                D in) noexcept {
  const std::uint64_t window = c.number(f.window, i);
  const std::uint64_t stride = c.number(f.strides, i);
  const std::uint64_t low = c.number(f.low, i);
  const std::uint64_t high = c.number(f.high, i);
  const std::uint64_t base = f.base_dilation == WindowFields::kNone ? 1 : c.number(f.base_dilation, i);
  if (!in.is_constant()) {
    if (window == 1 && stride == 1 && low == 0 && high == 0 && base == 1) return in;
    if (!D::open()) return c.wrong(Errc::shape_mismatch, 0, "a constant extent where a window slides");
    return *D::open();
  }
  const CheckedSize spread =
      in.constant() == 0 ? CheckedSize(0) : CheckedSize(in.constant() - 1) * CheckedSize(base) + CheckedSize(1);
  const CheckedSize padded = CheckedSize(low) + CheckedSize(high) + spread;
  const CheckedSize span = CheckedSize(window - 1) * CheckedSize(c.number(f.dilation, i)) + CheckedSize(1);
  if (!padded.ok() || !span.ok()) return c.no(Errc::size_overflow, "a padded extent does not fit 64 bits");
  return c.extent(padded.raw() < span.raw() ? 0 : (padded.raw() - span.raw()) / stride + 1);
}

}  // namespace zrt::inline ZRT_ABI::ops
