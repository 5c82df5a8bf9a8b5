// SPDX-License-Identifier: Apache-2.0
// zrt/exec/step_bounds.hpp: the largest step that a program is recorded for.
#pragma once

#include <zrt/core/dims.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::exec {

/// What a device that keeps a step's data in memory of its own makes room for, before anything is recorded. Everything
/// is 0 in a program that is run without batches.
struct StepBounds {
  Extents extents{};
  std::uint32_t tokens = 0;  ///< rows of a batch
  std::uint32_t slots = 0;
  std::uint32_t pages_per_slot = 0;
  std::uint32_t groups = 0;  ///< cache groups, each with page lists of its own
};

}  // namespace zrt::inline ZRT_ABI::exec

ZRT_LOAD_TIME_END
