// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx.hpp: ONNX models as programs of the portable tensor IR.
//
// Needs no library: the messages of the file are read in place. Each operator is read in its form at the model's opset
// (schemas.hpp), and becomes instructions; what the IR lacks becomes custom calls `zrt.onnx.<op>.v1`, whose kernels are
// `Targets`, a list for any host backend. Functions of the model are read in place of the nodes that call them.
#pragma once

#include <zrt/ir/onnx/operators.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// The program of an ONNX file. Inputs become parameters in their order, but for those that have an initialiser
/// or a bound value; initialisers become constants; outputs become results.
///
/// Whatever decides a shape (axes, extents, pads, ...) must be known: an initialiser, a constant, computed from
/// extents, or bound in the options. Errors name the node and its operator: Errc::unimplemented for what is not
/// translated, Errc::invalid_file and truncated_file for a broken file or an attribute that the operator does not
/// have, Errc::unsupported_version for a newer opset and for an operator of another form, Errc::limit_exceeded where
/// the file asks for more work or memory than the limits of reader.hpp and call.hpp, Errc::dtype_mismatch and
/// shape_mismatch for results that are not what the model declares, and the errors of the builder.
[[nodiscard]] inline Result<ptir::Program> read(Span<const std::byte> file, const ReadOptions& options = {}) noexcept {
  const auto model = read_model({reinterpret_cast<const char*>(file.data()), file.size()}, options.allocator);
  if (!model) return pass(model);
  if (model->opset() > kNewestOpset)
    return fail(Errc::unsupported_version, "the model is of opset ", model->opset(), ", at most ", kNewestOpset,
                " is read");
  Reader reader(options, *model, file.size());
  if (auto r = reader.read_main(); !r) return pass(r);
  return reader.b().finish();
}

/// The program of the file at `path`, with the data files beside it; see read.
///
/// Errors: those of read, and Errc::io_error for a file that cannot be mapped.
[[nodiscard]] inline Result<ptir::Program> read_file(std::string_view path, ReadOptions options = {}) noexcept {
  const auto file = FileMapping::open(path, options.allocator);
  if (!file) return pass(file);
  auto external = ExternalData::beside(path, options.allocator);
  if (!external) return pass(external);
  options.external = &*external;
  return read(file->span(), options);
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
