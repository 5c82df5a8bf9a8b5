// SPDX-License-Identifier: Apache-2.0
// examples/engines/programs_cpu.cpp: the one place where the runner of tensor programs on the CPU is compiled.
#include <programs.hpp>

template class zrt::cpu::BasicDevice<zrt::cpu::AllWeightTypes, zrt::cpu::AllVariants>;
template struct zrt::exec::AllAdapters<engines::CpuPrograms>;
template class zrt::ProgramRunner<engines::CpuPrograms>;
