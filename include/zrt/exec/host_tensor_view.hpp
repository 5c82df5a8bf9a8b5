// SPDX-License-Identifier: Apache-2.0
// zrt/exec/host_tensor_view.hpp: tensors in the caller's memory, as a program takes and gives them.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/core/span.hpp>

#include <cstddef>

namespace zrt::inline ZRT_ABI {

/// A dense tensor in the caller's memory, row-major and little-endian, with constant extents. 4-bit
/// elements lie two in a byte, the first in the lower half.
template <class Byte> struct BasicTensorView {
  DType dtype = DType::f32;
  Shape shape{};
  Span<Byte> data;
};

using ConstTensorView = BasicTensorView<const std::byte>;
using TensorView = BasicTensorView<std::byte>;

/// Compares a caller's tensor with what a program has under `name`.
///
/// Errors: Errc::dtype_mismatch, Errc::shape_mismatch (extents, or bytes that are not as many as they say).
template <class Byte>
[[nodiscard]] Result<void> check_tensor(std::string_view what, std::size_t index, std::string_view name,
                                        const BasicTensorView<Byte>& found, const TensorType& expected) noexcept {
  if (found.dtype != expected.dtype)
    return fail(Errc::dtype_mismatch, what, " ", index, " (", name, ") is ", zrt::name(found.dtype), ", expected ",
                zrt::name(expected.dtype));
  if (!(found.shape == expected.shape)) {
    Error error = Error::of(Errc::shape_mismatch, what, " ", index, " (", name, ") has shape ");
    append_shape(error, found.shape).append(", expected ");
    return std::unexpected<Error>(append_shape(error, expected.shape));
  }
  const auto bytes = bytes_of(expected.dtype, expected.shape.elements({})).get(name);
  if (!bytes) return pass(bytes);
  if (found.data.size() != *bytes)
    return fail(Errc::shape_mismatch, what, " ", index, " (", name, ") has ", found.data.size(), " bytes, expected ",
                *bytes);
  return {};
}

}  // namespace zrt::inline ZRT_ABI
