// SPDX-License-Identifier: Apache-2.0
// bench/compile/onnx_host.cpp: what a program pays that runs ONNX files by headers alone.
#include "run_onnx.hpp"
#include <zrt/backend/cpu.hpp>
#include <zrt/programs.hpp>

int main(int, char** argv) { return run_onnx<zrt::OnnxModel<zrt::TensorBackend>>(argv[1]); }
