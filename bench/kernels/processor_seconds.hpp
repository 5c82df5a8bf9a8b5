// SPDX-License-Identifier: Apache-2.0
// bench/kernels/processor_seconds.hpp: the processor time of this thread.
#pragma once

#include <ctime>

namespace bench {

[[nodiscard]] inline double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace bench
