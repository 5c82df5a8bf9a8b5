// SPDX-License-Identifier: Apache-2.0
// examples/engines/adapters.hpp: the adapters of all ops on both backends and what folds constants, declared as compiled elsewhere (compiled/programs_adapters.cpp, programs_reference.cpp).
#pragma once

#include <zrt/backend/reference.hpp>
#include <zrt/compiled/programs_backend.hpp>

namespace engines {

using CpuPrograms = zrt::TensorBackend;
/// The oracle, and the kernels that ONNX files call.
using ReferencePrograms = zrt::BasicReferenceBackend<zrt::ops::Catalog, zrt::ir::onnx::Targets>;

}  // namespace engines

extern template struct zrt::exec::AllAdapters<engines::ReferencePrograms>;
