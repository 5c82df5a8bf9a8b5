// SPDX-License-Identifier: Apache-2.0
// examples/zrt/peak_loops.hpp: loops over registers alone that reach an instruction set's peak.
#pragma once

#include <cstddef>
#include <string_view>

namespace program {

/// Runs `rounds` rounds and returns how many operations they were; multiply and add are two.
using PeakLoop = double (*)(std::size_t rounds) noexcept;

inline constexpr std::size_t kPeakRounds = 20000;

/// The loop for `isa`, named as cpu::name names it; v1's for any other name.
[[nodiscard]] PeakLoop int8_loop(std::string_view isa);
[[nodiscard]] PeakLoop f32_loop(std::string_view isa);
/// Products of bf16 in f32; nullptr where the processor has none beside `isa`.
[[nodiscard]] PeakLoop bf16_loop(std::string_view isa);

}  // namespace program
