// SPDX-License-Identifier: Apache-2.0
// compiled/programs_cpu.cpp: the runner of tensor programs on the CPU.
#include <zrt/compiled/programs_backend.hpp>

template class zrt::ProgramRunner<zrt::TensorBackend>;
