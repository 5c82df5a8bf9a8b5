// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/pool.hpp: memory of /dev/kfd, handed out in parts.
#pragma once

#include <zrt/backend/pm4/kfd/memory.hpp>
#include <zrt/backend/pm4/pool.hpp>

namespace zrt::inline ZRT_ABI::pm4::kfd {

template <OperatingSystem Os> using Pool = MemoryPool<Memory<Os>>;

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
