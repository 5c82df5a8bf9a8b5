// SPDX-License-Identifier: Apache-2.0
// compiled/reference.cpp: the engines on the oracle.
#include <zrt/backend/reference.hpp>
#include <zrt/compiled/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/trace/recorder.hpp>
#include <zrt/trace/timeline.hpp>

namespace zrt::inline ZRT_ABI {

template struct ModelLoader<ReferenceBackend>;
template struct exec::AllAdapters<ReferenceBackend,
                                  ModelOps<ReferenceBackend, FamiliesOn<ReferenceBackend, AllFamilies>>>;
template class Engine<ReferenceBackend>;
template class Engine<ReferenceBackend, AllFamilies, trace::TimelineObserver>;
template class Engine<ReferenceBackend, AllFamilies, trace::RunObserver>;

}  // namespace zrt::inline ZRT_ABI
