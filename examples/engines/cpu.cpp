// SPDX-License-Identifier: Apache-2.0
// examples/engines/cpu.cpp: the one place where the CPU engine is compiled.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::CpuBackend>;
