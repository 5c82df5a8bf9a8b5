// SPDX-License-Identifier: Apache-2.0
// bench/compile/compiled_programs.cpp: what a program pays that runs ONNX files by zrt::programs_compiled.
#include "run_onnx.hpp"
#include <zrt/compiled/programs.hpp>

int main(int, char** argv) { return run_onnx<zrt::OnnxModel<zrt::TensorBackend>>(argv[1]); }
