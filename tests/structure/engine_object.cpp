// SPDX-License-Identifier: Apache-2.0
// tests/structure/engine_object.cpp: an object file with a whole engine, whose symbols are tested.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::CpuBackend>;
