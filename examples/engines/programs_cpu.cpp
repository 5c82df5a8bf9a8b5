// SPDX-License-Identifier: Apache-2.0
// examples/engines/programs_cpu.cpp: the one place where the runner of tensor programs on the CPU is compiled.
#include <programs.hpp>

template class zrt::ProgramRunner<engines::CpuPrograms>;
