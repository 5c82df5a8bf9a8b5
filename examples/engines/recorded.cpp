// SPDX-License-Identifier: Apache-2.0
// examples/engines/recorded.cpp: the one place where engines are compiled under an observer that records runs.
#include <engines.hpp>

template class zrt::Engine<zrt::CpuBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
template class zrt::Engine<zrt::ReferenceBackend, zrt::AllFamilies, zrt::trace::RunObserver>;
