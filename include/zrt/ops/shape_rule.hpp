// SPDX-License-Identifier: Apache-2.0
// zrt/ops/shape_rule.hpp: the checks that the ops' shape rules are written with.
#pragma once

#include <zrt/ops/op.hpp>
#include <zrt/quant/types.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// Demands an input of `dtype` with at least `rank` axes.
template <class O>
[[nodiscard]] constexpr Result<void> expect_input(const InputInfo& input, std::string_view name, DType dtype,
                                                  std::uint8_t rank) noexcept {
  if (!input.present()) return fail(Errc::dangling_value, O::name, ": input ", name, " is required");
  if (input.type.dtype != dtype) return bad_dtype<O>(name, zrt::name(dtype), input.type.dtype);
  if (input.type.shape.rank < rank) return bad_shape<O>(name, "more axes", input.type.shape);
  return {};
}

/// Demands an input of a plain type, whose elements only move: complex ones are as good as any.
template <class O>
[[nodiscard]] constexpr Result<void> expect_plain(const InputInfo& input, std::string_view name) noexcept {
  if (!input.present()) return fail(Errc::dangling_value, O::name, ": input ", name, " is required");
  if (is_block(input.type.dtype)) return bad_dtype<O>(name, "a plain type", input.type.dtype);
  return {};
}

/// Demands a bound weight [rows, cols] of a computed type.
template <class O>
[[nodiscard]] constexpr Result<void> expect_matrix(const WeightInfo& weight, std::string_view name,
                                                   std::uint32_t cols) noexcept {
  if (!weight.present()) return fail(Errc::missing_weight, O::name, ": weight ", name, " is not bound");
  if (weight.shape.rank != 2 || weight.shape[1] != Dim(cols))
    return bad_shape<O>(name, "two axes, the last as long as the activations'", weight.shape);
  if (quant::facts(weight.dtype) == nullptr)
    return fail(Errc::unsupported_weight_type, O::name, ": weight ", name, " is ", zrt::name(weight.dtype),
                ", which this build does not compute");
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

/// True when two shapes have as many elements as each other whatever the symbols are: the constant
/// factors agree, and so does how often each symbol stands.
[[nodiscard]] constexpr bool same_size(const Shape& a, const Shape& b) noexcept {
  CheckedSize constants[2] = {1, 1};
  std::array<std::int8_t, kMaxSymbols> balance{};
  const Shape* shapes[2] = {&a, &b};
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::uint8_t axis = 0; axis < shapes[i]->rank; ++axis) {
      const Dim dim = (*shapes[i])[axis];
      constants[i] *= CheckedSize(dim.extent);
      if (dim.symbol != 0) balance[dim.symbol] = static_cast<std::int8_t>(balance[dim.symbol] + (i == 0 ? 1 : -1));
    }
  }
  for (std::int8_t count : balance)
    if (count != 0) return false;
  return constants[0].ok() && constants[1].ok() && constants[0].raw() == constants[1].raw();
}
static_assert(!same_size({Dim(1, 1)}, {3}) && same_size({Dim(2, 1), 3}, {6, Dim(1, 1)}));

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
