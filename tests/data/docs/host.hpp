// SPDX-License-Identifier: Apache-2.0
// tests/data/docs/host.hpp: declarations of a host that includes engine and backends.
#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>
// around each block:
namespace NAME {
BLOCK
}  // namespace NAME
