// SPDX-License-Identifier: Apache-2.0
// examples/engines/programs.hpp: the runners of tensor programs, declared as compiled elsewhere (cpu.cpp, reference.cpp).
#pragma once

#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/exec/program_runner.hpp>

extern template class zrt::ProgramRunner<zrt::CpuBackend>;
extern template class zrt::ProgramRunner<zrt::ReferenceBackend>;
