// SPDX-License-Identifier: Apache-2.0
// zrt/exec/cores.hpp: how many cores the process may use.
#pragma once

#include <zrt/core/error.hpp>

#include <cstdint>
#include <sched.h>

namespace zrt::inline ZRT_ABI::exec {

/// Returns the cores that the process may use, as its affinity mask says, hardware threads counted one by one; the
/// largest number where the system does not tell.
[[nodiscard]] inline std::uint32_t usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return ~std::uint32_t{0};
  return static_cast<std::uint32_t>(CPU_COUNT(&set));
}

/// A warning for the host's log that a step has `asked` workers on fewer `cores`, and `run` of them run.
[[nodiscard]] inline Error too_many_workers(std::uint32_t asked, std::uint32_t cores, std::uint32_t run) noexcept {
  return Error::of(Errc::ok, asked, " workers on ", cores, " usable cores: ", run, " run",
                   run > cores ? " and wait for each other; fewer are faster" : "");
}

}  // namespace zrt::inline ZRT_ABI::exec
