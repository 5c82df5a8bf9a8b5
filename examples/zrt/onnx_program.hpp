// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx_program.hpp: ONNX files as tensor programs, made for the tensors that they are fed.
#pragma once

#include <zrt/ir/ptir/program.hpp>

#include <optional>
#include <string>
#include <vector>

namespace program {

/// Reads the bytes of an ONNX file for the inputs in `feeds`, each NAME=FILE.npy: their extents are the inputs' own,
/// and one whose value decides a shape becomes a constant and is taken off `feeds`.
///
/// Errors: those of the reader; Errc::invalid_argument for a feed that is no NAME=FILE, Errc::not_found for one
/// that names no input, and the errors of reading a .npy file. `unrolled_trips` is zrt::ir::onnx::ReadOptions', where
/// it is given.
[[nodiscard]] zrt::Result<zrt::ir::ptir::Program> read_onnx(const std::string& bytes, std::vector<std::string>& feeds,
                                                            std::optional<std::int64_t> unrolled_trips);

}  // namespace program
