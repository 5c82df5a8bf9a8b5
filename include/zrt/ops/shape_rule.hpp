// SPDX-License-Identifier: Apache-2.0
// zrt/ops/shape_rule.hpp: the checks that the ops' shape rules are written with.
#pragma once

#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI {

/// Demands an input of `dtype` with at least `rank` axes.
template <class O>
[[nodiscard]] constexpr Result<void> expect_input(const InputInfo& input, std::string_view name, DType dtype,
                                                  std::uint8_t rank) noexcept {
  if (!input.present())
    return fail(Errc::dangling_value, O::name, ": input ", name, " is required");
  if (input.type.dtype != dtype) return bad_dtype<O>(name, zrt::name(dtype), input.type.dtype);
  if (input.type.shape.rank < rank) return bad_shape<O>(name, "more axes", input.type.shape);
  return {};
}

/// Demands a bound weight [rows, cols] of any float or block type.
template <class O>
[[nodiscard]] constexpr Result<void> expect_matrix(const WeightInfo& weight, std::string_view name,
                                                   std::uint32_t cols) noexcept {
  if (!weight.present()) return fail(Errc::missing_weight, O::name, ": weight ", name, " is not bound");
  if (weight.shape.rank != 2 || weight.shape[1] != Dim(cols))
    return bad_shape<O>(name, "two axes, the last as long as the activations'", weight.shape);
  if (!is_float(weight.dtype) && !is_block(weight.dtype))
    return bad_dtype<O>(name, "a float or block type", weight.dtype);
  if (cols % info(weight.dtype).block_elems != 0)
    return bad_shape<O>(name, "a last axis of whole blocks", weight.shape);
  return {};
}

/// Demands, where the weight is bound, an f32 vector of `size` elements.
template <class O>
[[nodiscard]] constexpr Result<void> expect_vector(const WeightInfo& weight, std::string_view name, std::uint32_t size,
                                                   bool required) noexcept {
  if (!weight.present()) {
    if (required) return fail(Errc::missing_weight, O::name, ": weight ", name, " is not bound");
    return {};
  }
  if (weight.dtype != DType::f32) return bad_dtype<O>(name, "f32", weight.dtype);
  if (weight.shape.rank != 1 || weight.shape[0] != Dim(size))
    return bad_shape<O>(name, "one axis of the expected length", weight.shape);
  return {};
}

/// Symbols set to distinct primes: two shapes agree in size for every step if they do here.
[[nodiscard]] constexpr Extents prime_extents() noexcept {
  constexpr std::uint32_t primes[kMaxSymbols] = {1, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
  Extents extents;
  for (std::size_t i = 0; i < kMaxSymbols; ++i) extents.value[i] = primes[i];
  return extents;
}

[[nodiscard]] constexpr bool same_size(const Shape& a, const Shape& b) noexcept {
  const CheckedSize x = a.elements(prime_extents());
  const CheckedSize y = b.elements(prime_extents());
  return x.ok() && y.ok() && x.raw() == y.raw();
}

}  // namespace zrt::inline ZRT_ABI
