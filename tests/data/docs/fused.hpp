// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/fused.hpp: statements about a fused program and its data.
#include <zrt/backend/reference.hpp>
#include <zrt/exec/fused_runner.hpp>
extern template class zrt::ProgramRunner<zrt::ReferenceBackend>;
// around each block:
namespace NAME {
inline void example(const zrt::Result<zrt::ir::fused::FusedProgram>& program, zrt::Span<const std::byte> x_bytes,
                    zrt::Span<std::byte> w_bytes, zrt::Span<std::byte> y_bytes) {
BLOCK
}
}  // namespace NAME
