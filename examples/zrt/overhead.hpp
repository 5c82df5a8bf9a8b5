// SPDX-License-Identifier: Apache-2.0
// examples/zrt/overhead.hpp: what replaying an instruction costs when its kernel does nothing.
#pragma once

#include <cstdint>

namespace program {

/// Nanoseconds per instruction of a recorded program of `instructions` empty kernels, each fenced,
/// on `threads` workers of the default pool; 0 when it cannot be measured.
[[nodiscard]] double replay_overhead(std::uint32_t instructions, std::uint32_t threads);

}  // namespace program
