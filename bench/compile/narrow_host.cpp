// SPDX-License-Identifier: Apache-2.0
// bench/compile/narrow_host.cpp: a whole program whose engine has one weight type on one kind of processor.
#include "generate_once.hpp"
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

using Narrow = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v3>>;

int main(int, char** argv) { return generate_once<zrt::Engine<Narrow>>(argv[1]); }
