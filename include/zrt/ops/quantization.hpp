// SPDX-License-Identifier: Apache-2.0
// zrt/ops/quantization.hpp: what quantize, dequantize and requantize share: parameters, scales and whole numbers.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/core/elementary64.hpp>
#include <zrt/core/map_elements.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct QuantizationParams {
  DType output_dtype = DType::si8;
  std::uint8_t per_axis = 0;  ///< 1: scales and zero points are vectors over `axis`; 0: scalars, and axis is 0
  std::uint8_t axis = 0;
  std::uint8_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&QuantizationParams::output_dtype, "output_dtype"}, Member{&QuantizationParams::per_axis, "per_axis"},
      Member{&QuantizationParams::axis, "axis"}, Member{&QuantizationParams::reserved, "reserved"});
};

inline constexpr auto kQuantizationAttributes =
    attribute_list(attribute::dtype("output_dtype", &QuantizationParams::output_dtype),
                   attribute::optional_axis("axis", &QuantizationParams::per_axis, &QuantizationParams::axis));

/// Operand `scale` (f32) and the zero point after it (si32) are scalars, or vectors over the axis.
template <class D>
[[nodiscard]] constexpr Result<void> check_scaling(const RuleCall<D>& c, std::size_t axis_field,
                                                   std::size_t scale) noexcept {
  BasicTensorType<D> expected{DType::f32, {}};
  if (c.has(axis_field)) {
    const auto axis = c.axis(axis_field, c.in[0].shape.rank);
    if (!axis) return pass(axis);
    expected.shape.append(c.in[0].shape[*axis]);
  }
  for (const std::size_t i : {scale, scale + 1}) {
    expected.dtype = i == scale ? DType::f32 : DType::si32;
    if (!compatible(c.in[i], expected))
      return c.wrong(c.in[i].dtype != expected.dtype ? Errc::dtype_mismatch : Errc::shape_mismatch, i, expected);
  }
  return {};
}

/// Which scale and zero point an element has.
class Channels {
 public:
  Channels(const QuantizationParams& p, const HostTensor& x, const ExecutionContext& step) noexcept {
    if (p.per_axis == 0) return;
    const AxisSplit split(x, p.axis, step);
    inner_ = split.inner;
    extent_ = split.extent;
  }
  [[nodiscard]] std::uint64_t of(std::uint64_t element) const noexcept { return element / inner_ % extent_; }
  /// How many elements from `element` on have its scale and zero point, at least.
  [[nodiscard]] std::uint64_t left(std::uint64_t element) const noexcept {
    return extent_ == 1 ? ~std::uint64_t{0} : inner_ - element % inner_;
  }

 private:
  std::uint64_t inner_ = 1;
  std::uint64_t extent_ = 1;
};

/// A whole number of a sign and 65 bits; what exceeds them becomes the largest such number.
///
/// An element has at most 64, but its sum with a zero point, or the quotient from which one leads back, may have more.
struct Whole {
  std::uint64_t magnitude = 0;  ///< the low 64 bits
  bool negative = false;
  bool above = false;  ///< the bit of 2^64

  /// The nearest whole number, ties to even; 0 for NaN.
  template <std::floating_point T> [[nodiscard]] static Whole nearest(T x) noexcept {
    if (x != x) return {};
    T size{};
    if constexpr (std::same_as<T, float>) {
      size = math::round_even(math::abs(x));
    } else {
      size = __builtin_fabs(x);
      // At 2^52 the last bit of an f64 is 1, so the sum rounds and the difference is exact.
      if (size < 0x1p52) size = math::sealed(size + 0x1p52) - 0x1p52;
    }
    if (size >= T{0x1p65}) return {~std::uint64_t{0}, x < 0, true};
    if (size >= T{0x1p64}) return {static_cast<std::uint64_t>(size - T{0x1p64}), x < 0, true};
    return {static_cast<std::uint64_t>(size), x < 0};
  }
  template <std::integral T> [[nodiscard]] static constexpr Whole of(T x) noexcept {
    const auto bits = static_cast<std::uint64_t>(x);
    return x < 0 ? Whole{0 - bits, true} : Whole{bits, false};
  }

  [[nodiscard]] constexpr Whole plus(std::int64_t other) const noexcept {
    const Whole b = of(other);
    if (negative == b.negative) {
      const std::uint64_t sum = magnitude + b.magnitude;
      const bool carry = sum < magnitude;
      return carry && above ? Whole{~std::uint64_t{0}, negative, true} : Whole{sum, negative, above || carry};
    }
    if (above) return {magnitude - b.magnitude, negative, magnitude >= b.magnitude};
    if (magnitude == b.magnitude) return {};
    return magnitude > b.magnitude ? Whole{magnitude - b.magnitude, negative}
                                   : Whole{b.magnitude - magnitude, b.negative};
  }
  /// The nearest float.
  template <std::floating_point T> [[nodiscard]] constexpr T real() const noexcept {
    T size{};
    if constexpr (std::same_as<T, float>)
      size = integer_to_f32(magnitude);
    else
      size = integer_to_f64(magnitude);
    // Above 2^64 stand sums of an element and a zero point, whose low bits are a float's already or too small for one.
    if (above) size += T{0x1p64};
    return negative ? -size : size;
  }
  /// The number, or the end of the range of `dtype` beyond which it lies.
  template <std::integral T> [[nodiscard]] constexpr T saturated(DType dtype) const noexcept {
    const ElementFunctions<T>& type = element_functions<T>(dtype);
    if (negative) {
      const auto depth = 0 - static_cast<std::uint64_t>(type.lowest);
      return above || magnitude >= depth ? type.lowest : static_cast<T>(0 - magnitude);
    }
    return above || magnitude >= static_cast<std::uint64_t>(type.highest) ? type.highest : static_cast<T>(magnitude);
  }
};

/// Reads elements [first, first + count) of an integer type; count <= kElementRun.
inline void read_whole(DType dtype, const std::byte* data, std::uint64_t first, std::uint64_t count,
                       Whole* out) noexcept {
  visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) {
      T values[kElementRun];
      element_functions<T>(dtype).unpack(data, first, count, values);
      for (std::uint64_t i = 0; i < count; ++i) out[i] = Whole::of(values[i]);
    }
  });
}

/// Writes elements [first, first + count) of an integer type, saturated; count <= kElementRun.
inline void write_whole(DType dtype, const Whole* in, std::uint64_t first, std::uint64_t count,
                        std::byte* data) noexcept {
  visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) {
      T values[kElementRun];
      for (std::uint64_t i = 0; i < count; ++i) values[i] = in[i].saturated<T>(dtype);
      element_functions<T>(dtype).pack(values, first, count, data);
    }
  });
}

static_assert(Whole::of(std::int64_t{-3}).plus(5).magnitude == 2 && Whole::of(std::int64_t{-3}).plus(-5).negative);
static_assert(Whole{std::uint64_t{1} << 63, true}.saturated<std::int64_t>(DType::si64) ==
              std::numeric_limits<std::int64_t>::min());

}  // namespace zrt::inline ZRT_ABI::ops
