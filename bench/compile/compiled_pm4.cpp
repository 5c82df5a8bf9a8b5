// SPDX-License-Identifier: Apache-2.0
// bench/compile/compiled_pm4.cpp: what a program pays that calls engines of zrt::pm4_compiled.
#include "generate_once.hpp"
#include <zrt/compiled/pm4.hpp>

int main(int, char** argv) { return generate_once<zrt::Engine<zrt::Pm4Backend>>(argv[1]); }
