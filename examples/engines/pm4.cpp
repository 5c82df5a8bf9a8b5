// SPDX-License-Identifier: Apache-2.0
// examples/engines/pm4.cpp: the one place where the engine on AMD cards is compiled.
#include <zrt/emulator/pm4_backend.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::emulator::Pm4Backend>;
template class zrt::Engine<zrt::emulator::Pm4Backend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
template class zrt::Engine<zrt::emulator::Pm4Backend, zrt::AllFamilies, zrt::trace::RunObserver>;
