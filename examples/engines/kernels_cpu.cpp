// SPDX-License-Identifier: Apache-2.0
// examples/engines/kernels_cpu.cpp: the one place where the CPU's kernels for weights are compiled, for engines and programs alike.
#include <zrt/backend/cpu.hpp>

template class zrt::cpu::BasicDevice<zrt::cpu::AllWeightTypes, zrt::cpu::AllVariants>;
