// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/programs.hpp: ONNX files on the CPU, which the target zrt::programs_compiled holds.
#pragma once

#include <zrt/backend/cpu/declaration.hpp>
#include <zrt/exec/onnx_model.hpp>

namespace zrt::inline ZRT_ABI {

extern template class OnnxModel<TensorBackend>;

}  // namespace zrt::inline ZRT_ABI
