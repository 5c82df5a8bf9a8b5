// SPDX-License-Identifier: Apache-2.0
// examples/zrt/npy.hpp: tensors as .npy files, format versions 1 to 3.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/core/error.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace program {

/// A dense tensor.
struct Array {
  zrt::TensorType type{};
  std::vector<std::byte> data;  ///< row-major, as the library lays tensors out
};

/// Reads the bytes of a .npy file as a tensor of `dtype`.
///
/// Element types that numpy lacks come as integers without a sign: bf16 as uint16, fp8 as uint8, both as bits;
/// si4 and ui4 as int8 and uint8, one number each. Fortran's order, which numpy writes for a transposed array, is
/// turned into rows.
/// Errors: Errc::invalid_file for what is no .npy file, Errc::dtype_mismatch for another element type.
[[nodiscard]] zrt::Result<Array> read_npy(const std::string& bytes, zrt::DType dtype);

/// The same as a tensor of the element type that numpy calls the file's.
[[nodiscard]] zrt::Result<Array> read_any_npy(const std::string& bytes);

/// The bytes of a .npy file.
[[nodiscard]] std::string write_npy(const Array& array);

}  // namespace program
