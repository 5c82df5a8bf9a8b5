// SPDX-License-Identifier: Apache-2.0
// tests/support/engines_reference.cpp: the engine on ReferenceBackend.
#include <support/engines.inc.hpp>

template class zrt::Engine<zrt::ReferenceBackend>;
template struct zrt::test::Calls<zrt::ReferenceBackend>;
