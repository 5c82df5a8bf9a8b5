// SPDX-License-Identifier: Apache-2.0
// tests/support/processor_time.hpp: the time that a thread had a core for, which a busy machine does not lengthen.
#pragma once

#include <ctime>

namespace zrt::test {

/// The seconds that the calling thread has run so far.
inline double thread_seconds() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace zrt::test
