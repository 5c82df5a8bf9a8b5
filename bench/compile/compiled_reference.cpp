// SPDX-License-Identifier: Apache-2.0
// bench/compile/compiled_reference.cpp: what a program pays that calls engines of zrt::reference_compiled.
#include "generate_once.hpp"
#include <zrt/compiled/reference.hpp>

int main(int, char** argv) { return generate_once<zrt::Engine<zrt::ReferenceBackend>>(argv[1]); }
