// SPDX-License-Identifier: Apache-2.0
// zrt/exec/executor_sizes.hpp: what an executor has room for.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// The sizes that an executor is made for.
struct ExecutorSizes {
  std::uint32_t slots = 1;           ///< sequences in one step
  std::uint32_t prefill_tokens = 1;  ///< tokens of a step that holds prompt tokens
  std::uint32_t prefill_rows = 1;    ///< rows of such a step that reach the LM head
  std::uint32_t pages = 1;           ///< pages of each kv_paged state; one with a window has as many as it can use
  std::uint32_t pages_per_slot = 1;
  bool keep_values = false;  ///< every register can be read after a step; see plan::MemoryOptions
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
