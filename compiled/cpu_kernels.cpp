// SPDX-License-Identifier: Apache-2.0
// compiled/cpu_kernels.cpp: the CPU's kernels for weights, for engines and programs alike.
#include <zrt/compiled/cpu_backend.hpp>

namespace zrt::inline ZRT_ABI {

template class cpu::BasicDevice<cpu::AllWeightTypes, cpu::AllVariants>;

}  // namespace zrt::inline ZRT_ABI
