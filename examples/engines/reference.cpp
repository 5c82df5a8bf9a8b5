// SPDX-License-Identifier: Apache-2.0
// examples/engines/reference.cpp: the one place where the engine on the oracle is compiled.
#include <zrt/backend/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::ReferenceBackend>;
template class zrt::Engine<zrt::ReferenceBackend, zrt::AllFamilies, zrt::trace::TimelineObserver>;
template class zrt::Engine<zrt::ReferenceBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
