// SPDX-License-Identifier: Apache-2.0
// zrt/compiled/cpu_backend.hpp: the CPU's backend, whose kernels and model loader the target zrt::cpu_compiled holds.
#pragma once

#include <zrt/backend/cpu.hpp>
#include <zrt/compiled/cpu.hpp>
#include <zrt/models.hpp>

namespace zrt::inline ZRT_ABI {

extern template class cpu::BasicDevice<cpu::AllWeightTypes, cpu::AllVariants>;
extern template struct ModelLoader<CpuBackend>;
extern template struct exec::AllAdapters<CpuBackend, ModelOps<CpuBackend, FamiliesOn<CpuBackend, AllFamilies>>>;

}  // namespace zrt::inline ZRT_ABI
