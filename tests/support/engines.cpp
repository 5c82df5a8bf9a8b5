// SPDX-License-Identifier: Apache-2.0
// tests/support/engines.cpp: the engine on CpuBackend.
#include <support/engines.inc.hpp>

template class zrt::Engine<zrt::CpuBackend>;
template struct zrt::test::Calls<zrt::CpuBackend>;
