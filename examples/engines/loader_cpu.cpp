// SPDX-License-Identifier: Apache-2.0
// examples/engines/loader_cpu.cpp: the one place where the CPU engine's reading and compiling of models is compiled.
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

template struct zrt::ModelLoader<zrt::CpuBackend>;
