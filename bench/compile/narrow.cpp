// SPDX-License-Identifier: Apache-2.0
// bench/compile/narrow.cpp: narrow_engine.cpp and narrow_loader.cpp as one unit.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

using Narrow = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v3>>;
template class zrt::Engine<Narrow>;
