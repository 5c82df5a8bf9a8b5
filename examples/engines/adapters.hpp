// SPDX-License-Identifier: Apache-2.0
// examples/engines/adapters.hpp: the adapters of all ops on both backends and what folds constants, declared as compiled elsewhere (adapters_cpu.cpp, programs_reference.cpp).
#pragma once

#include <zrt/backend/reference.hpp>
#include <zrt/compiled/cpu_backend.hpp>
#include <zrt/ir/onnx/operators.hpp>
#include <zrt/ir/passes/evaluate.hpp>

namespace engines {

/// The CPU, and the kernels that ONNX files call.
using CpuPrograms = zrt::BasicCpuBackend<zrt::cpu::AllWeightTypes, zrt::cpu::AllVariants, boost::mp11::mp_list<>,
                                         zrt::ir::onnx::Targets>;
using ReferencePrograms = zrt::BasicReferenceBackend<zrt::ops::Catalog, zrt::ir::onnx::Targets>;

}  // namespace engines

extern template struct zrt::exec::AllAdapters<engines::CpuPrograms>;
extern template struct zrt::exec::AllAdapters<engines::ReferencePrograms>;
extern template struct zrt::ir::Evaluations<zrt::ops::Catalog>;
