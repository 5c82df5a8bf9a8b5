// SPDX-License-Identifier: Apache-2.0
// bench/compile/narrow_engine.cpp: the larger of the two units of a program that runs one weight type on one kind of processor.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

using Narrow = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v3>>;
extern template struct zrt::ModelLoader<Narrow>;
template class zrt::Engine<Narrow>;
