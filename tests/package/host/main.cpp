// SPDX-License-Identifier: Apache-2.0
// tests/package/host/main.cpp: a host program that sees zrt only as a package.
#if __has_include(<zrt/zrt.hpp>)
#include <zrt/zrt.hpp>
#else
#include <zrt/core/config.hpp>
#endif
#if __has_include(<zrt/engine/engine.hpp>) && __has_include(<zrt/backend/cpu.hpp>)
#include <zrt/backend/cpu.hpp>
#include <zrt/engine/engine.hpp>
static_assert(sizeof(zrt::Engine<zrt::CpuBackend>) > 0);
#endif

int main() { return 0; }
