// SPDX-License-Identifier: Apache-2.0
// examples/engines/adapters_cpu.cpp: the one place where the CPU's adapters of all ops are compiled.
#include <adapters.hpp>

template struct zrt::exec::AllAdapters<engines::CpuPrograms>;
