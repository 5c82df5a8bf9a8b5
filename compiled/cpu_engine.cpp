// SPDX-License-Identifier: Apache-2.0
// compiled/cpu_engine.cpp: the CPU's engines, without what cpu_kernels.cpp and cpu_loader.cpp hold.
#include <zrt/compiled/cpu_backend.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>

namespace zrt::inline ZRT_ABI {

template struct exec::AllAdapters<CpuBackend, ModelOps<CpuBackend, FamiliesOn<CpuBackend, AllFamilies>>>;
template class Engine<CpuBackend>;
template class Engine<CpuBackend, AllFamilies, trace::TimelineObserver>;
template class Engine<CpuBackend, AllFamilies, trace::RunObserver>;

}  // namespace zrt::inline ZRT_ABI
