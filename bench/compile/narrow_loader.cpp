// SPDX-License-Identifier: Apache-2.0
// bench/compile/narrow_loader.cpp: the unit beside narrow_engine.cpp, which reads and compiles models.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

using Narrow = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v3>>;
template struct zrt::ModelLoader<Narrow>;
