// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/programs.hpp: statements about a tensor program, or an ONNX file by its path, and its data.
#include <programs.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/plan/c/convert.hpp>
extern template class zrt::ProgramRunner<zrt::ReferenceBackend>;
// around each block:
namespace NAME {
inline void example(const zrt::Result<zrt::ir::ptir::Program>& program, zrt::Span<const zrt::ir::ptir::Shape> shapes,
                    std::string_view path, zrt::Span<const zrt::ConstTensorView> inputs,
                    zrt::Span<const zrt::TensorView> outputs, zrt::Span<const std::byte> x_bytes,
                    zrt::Span<const std::byte> w_bytes, zrt::Span<std::byte> y_bytes) {
  {
BLOCK
  }
}
}  // namespace NAME
