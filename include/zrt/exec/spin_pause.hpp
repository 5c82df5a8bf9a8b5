// SPDX-License-Identifier: Apache-2.0
// zrt/exec/spin_pause.hpp: what a thread does between two looks at a word that another will write.
#pragma once

#include <zrt/core/config.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Tells the core that this thread waits; no system call.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("yield");
#endif
}

}  // namespace zrt::inline ZRT_ABI::exec
