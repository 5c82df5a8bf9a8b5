// SPDX-License-Identifier: Apache-2.0
// bench/compile/narrow_family.cpp: the program of narrow_host.cpp with one model family.
#include "generate_once.hpp"
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

struct OneFamily {
  using List = boost::mp11::mp_list<zrt::model::Llama>;
};
using Narrow = zrt::BasicCpuBackend<zrt::cpu::WeightTypes<zrt::DType::q8_0>, zrt::cpu::Variants<zrt::cpu::Isa::v3>>;

int main(int, char** argv) { return generate_once<zrt::Engine<Narrow, OneFamily>>(argv[1]); }
