// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/own_kernels.hpp: what stands around an engine on a card with kernels of the host's.
#pragma once

#include <zrt/backend/pm4.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

#include <array>

// around each block:
namespace NAME {
inline void show(const char* path, const zrt::EngineOptions& options, zrt::pm4::LinuxOs& os,
                 zrt::pm4::KernelFiles files) {
BLOCK
}
}  // namespace NAME
