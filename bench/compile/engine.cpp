// SPDX-License-Identifier: Apache-2.0
// bench/compile/engine.cpp: what a program pays for the whole engine on the CPU.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::CpuBackend>;
