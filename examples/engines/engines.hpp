// SPDX-License-Identifier: Apache-2.0
// examples/engines/engines.hpp: the engines that these programs use, declared as compiled elsewhere (cpu.cpp, kernels_cpu.cpp, loader_cpu.cpp, reference.cpp).
//
// The pattern of docs/embedding.md: one source per backend holds `template class zrt::Engine<...>;`,
// every other source sees the declarations below and compiles in a fraction of the time. CMake
// includes this header in front of each example, so that the examples themselves show what a host
// writes without it.
#pragma once

#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>
#include <zrt/zrt.hpp>

extern template class zrt::cpu::BasicDevice<zrt::cpu::AllWeightTypes, zrt::cpu::AllVariants>;
extern template struct zrt::ModelLoader<zrt::CpuBackend>;
extern template class zrt::Engine<zrt::CpuBackend>;
extern template class zrt::Engine<zrt::ReferenceBackend>;
// The same engines under an observer of times, and under one that records runs.
extern template class zrt::Engine<zrt::CpuBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
extern template class zrt::Engine<zrt::CpuBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
extern template class zrt::Engine<zrt::ReferenceBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
extern template class zrt::Engine<zrt::ReferenceBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
