// SPDX-License-Identifier: Apache-2.0
// examples/engines/programs.hpp: the runners of tensor programs, declared as compiled elsewhere (compiled/programs_cpu.cpp, programs_reference.cpp).
#pragma once

#include <zrt/exec/program_runner.hpp>

#include <adapters.hpp>

extern template class zrt::ProgramRunner<engines::ReferencePrograms>;
