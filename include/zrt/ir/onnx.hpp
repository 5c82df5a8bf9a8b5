// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx.hpp: ONNX models as programs of the portable tensor IR.
//
// Needs no library: the messages of the file are read in place. Operators of opsets 13 to 17 become instructions, and
// those of an older model where each has the form of opset 13 already; those that the IR lacks become custom calls
// `zrt.onnx.<op>.v1`, whose kernels are `Targets`, a list for any host backend.
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
  const auto model = read_model({reinterpret_cast<const char*>(file.data()), file.size()});
  if (!model) return pass(model);
  if (model->opset > kNewestOpset)
    return fail(Errc::unsupported_version, "the model is of opset ", model->opset, ", at most ", kNewestOpset,
                " is read");
  Reader reader(options, model->opset == 0 ? kNewestOpset : model->opset, file.size());
  if (auto r = reader.read_main(model->graph); !r) return pass(r);
  return reader.b().finish();
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
