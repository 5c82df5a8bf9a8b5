// SPDX-License-Identifier: Apache-2.0
// bench/compile/compiled_cpu.cpp: what a program pays that calls engines of zrt::cpu_compiled.
#include "generate_once.hpp"
#include <zrt/compiled/cpu.hpp>

int main(int, char** argv) { return generate_once<zrt::Engine<zrt::CpuBackend>>(argv[1]); }
