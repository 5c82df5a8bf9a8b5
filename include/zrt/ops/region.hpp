// SPDX-License-Identifier: Apache-2.0
// zrt/ops/region.hpp: what the ops that run regions have in common: their types, and passing values in and out.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Demands that the types at a border of a region are `expected`, which is any list of types.
template <class O, class List>
[[nodiscard]] constexpr Result<void> expect_border(std::string_view region, std::string_view border,
                                                   Span<const TensorType> found, const List& expected) noexcept {
  if (found.size() != expected.size())
    return fail(Errc::invalid_argument, O::name, ": region ", region, " has ", found.size(), " ", border, ", expected ",
                expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i]) continue;
    Error error = Error::of(found[i].dtype == expected[i].dtype ? Errc::shape_mismatch : Errc::dtype_mismatch, O::name,
                            ": region ", region, ", ", border, " ", i, " is ", zrt::name(found[i].dtype));
    append_shape(error, found[i].shape).append(", expected ").append(zrt::name(expected[i].dtype));
    return std::unexpected<Error>(append_shape(error, expected[i].shape));
  }
  return {};
}

/// The types of inputs `first` and following, which are all present.
template <class List>
[[nodiscard]] constexpr Repeated<TensorType> types_from(const List& inputs, std::size_t first) noexcept {
  Repeated<TensorType> types;
  for (std::size_t i = first; i < inputs.size(); ++i) types.items[types.count++] = inputs[i].type;
  return types;
}

/// Copies a whole value into memory of the same type.
inline void pass_value(const HostTensor& from, const HostTensor& to, const ExecutionContext& step) noexcept {
  copy_elements(from.type.dtype, from.data, 0, to.data, 0, from.elements(step));
}

}  // namespace zrt::inline ZRT_ABI::ops
