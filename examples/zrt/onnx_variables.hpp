// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx_variables.hpp: the initialisers of an ONNX file that training moves, and a file with new values of them.
#pragma once

#include "npy.hpp"
#include "onnx_program.hpp"

#include <span>
#include <string>
#include <vector>

namespace program {

/// An initialiser with its value.
struct OnnxVariable {
  std::string name;
  Array value;
};

/// The floats among the initialisers of the main graph that have an axis, but for the statistics of batch norms.
///
/// Errors: those of reading the file.
[[nodiscard]] zrt::Result<std::vector<OnnxVariable>> variables_of(OnnxSource& source);

/// Reads the file with `variables` as its first inputs, in this order, and `types` for inputs. Variables whose values
/// must be known when the program is made are taken off.
///
/// Errors: those of the reader.
[[nodiscard]] zrt::Result<zrt::ir::ptir::Program> read_onnx(OnnxSource& source, std::vector<OnnxVariable>& variables,
                                                            const std::vector<DeclaredTensor>& types);

/// The bytes of the file with these values in place of its own.
///
/// Errors: Errc::unimplemented for a variable whose elements the file holds elsewhere or as numbers one by one.
[[nodiscard]] zrt::Result<std::string> onnx_with(OnnxSource& source, std::span<const OnnxVariable> variables);

}  // namespace program
