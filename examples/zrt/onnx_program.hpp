// SPDX-License-Identifier: Apache-2.0
// examples/zrt/onnx_program.hpp: ONNX files as tensor programs, made for the tensors that they are fed.
#pragma once

#include <zrt/core/file_mapping.hpp>
#include <zrt/ir/onnx/external_data.hpp>
#include <zrt/ir/onnx/strings.hpp>
#include <zrt/ir/ptir/program.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace program {

/// What an ONNX file says of one axis: an extent, the symbol of one, or nothing.
struct DeclaredAxis {
  std::string symbol;
  std::optional<std::uint32_t> extent;
};

/// What an ONNX file says of an input or output.
struct DeclaredTensor {
  std::string name;
  zrt::DType dtype{};
  std::vector<DeclaredAxis> axes;
  bool shaped = false;   ///< the file states the axes
  bool strings = false;  ///< the elements are strings, `dtype` is that of their numbers
};

/// An operator of an ONNX file's main graph.
struct UsedOperator {
  std::string name;  ///< with its domain, where that is not the standard's
  std::size_t count = 0;
  std::string refusal;  ///< why it is refused whatever its operands are; empty where it is not
};

/// What an ONNX file holds.
struct OnnxFile {
  std::int64_t opset = 0;
  std::vector<DeclaredTensor> inputs;
  std::vector<DeclaredTensor> outputs;
  std::vector<UsedOperator> operators;
  std::size_t nodes = 0;
  std::uint64_t parameters = 0;  ///< elements of all initialisers but strings
  std::uint64_t parameter_bytes = 0;
};

/// An ONNX file, mapped, and the files beside it that hold data of its tensors.
struct OnnxSource {
  zrt::FileMapping model;
  zrt::ir::onnx::ExternalData external;
};

/// Errors: Errc::io_error for a file that cannot be mapped.
[[nodiscard]] zrt::Result<OnnxSource> open_onnx(const std::string& path);

/// Looks into an ONNX file without translating it.
[[nodiscard]] zrt::Result<OnnxFile> declared_in(OnnxSource& source);

/// Reads an ONNX file; symbols in `extents` are these numbers. `strings` receives the strings of the model; null refuses
/// one that has such.
///
/// Errors: those of the reader.
[[nodiscard]] zrt::Result<zrt::ir::ptir::Program> read_onnx(OnnxSource& source,
                                                            const std::map<std::string, std::uint32_t>& extents,
                                                            zrt::ir::onnx::ModelStrings* strings = nullptr);

/// Reads an ONNX file for the inputs in `feeds`, each NAME=FILE.npy: their extents are the inputs' own,
/// and one whose value decides a shape becomes a constant and is taken off `feeds`.
///
/// Errors: those of the reader; Errc::invalid_argument for a feed that is no NAME=FILE, Errc::not_found for one
/// that names no input, Errc::shape_mismatch for one whose axes are not those that the file declares or whose symbols
/// are not those of an input before, and the errors of reading a .npy file. `unrolled_trips` is zrt::ir::onnx::ReadOptions', where
/// it is given.
[[nodiscard]] zrt::Result<zrt::ir::ptir::Program> read_onnx(OnnxSource& source, std::vector<std::string>& feeds,
                                                            std::optional<std::int64_t> unrolled_trips);

}  // namespace program
