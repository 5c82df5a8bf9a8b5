// SPDX-License-Identifier: Apache-2.0
// compiled/pm4.cpp: the engines on AMD cards.
#include <zrt/backend/pm4.hpp>
#include <zrt/compiled/pm4.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>

namespace zrt::inline ZRT_ABI {

template class Engine<Pm4Backend>;
template class Engine<Pm4Backend, AllFamilies, trace::TimelineObserver>;
template class Engine<Pm4Backend, AllFamilies, trace::RunObserver>;

}  // namespace zrt::inline ZRT_ABI
