// SPDX-License-Identifier: Apache-2.0
// examples/engines/reference.cpp: the one place where the engine and the runner of programs on the oracle are compiled.
#include <zrt/backend/reference.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::ReferenceBackend>;
template class zrt::ProgramRunner<zrt::ReferenceBackend>;
