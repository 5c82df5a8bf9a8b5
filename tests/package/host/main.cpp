// SPDX-License-Identifier: Apache-2.0
// tests/package/host/main.cpp: a host program that sees zrt only as a package.
#if __has_include(<zrt/engine/engine.hpp>)
#include <zrt/backend/cpu.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

template class zrt::Engine<zrt::CpuBackend>;
#else
#include <zrt/core/config.hpp>
#endif

int main() { return 0; }
