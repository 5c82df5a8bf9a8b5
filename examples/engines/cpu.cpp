// SPDX-License-Identifier: Apache-2.0
// examples/engines/cpu.cpp: the one place where the CPU engine is compiled, without what kernels_cpu.cpp and loader_cpu.cpp hold.
#include <engines.hpp>

template class zrt::Engine<zrt::CpuBackend>;
template class zrt::Engine<zrt::CpuBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
template class zrt::Engine<zrt::CpuBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
