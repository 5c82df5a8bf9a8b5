// SPDX-License-Identifier: Apache-2.0
// zrt/ops/opcode.hpp: the number of an op, and the rung of the ladder it stands on.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// An op's id. It has no enumerators: each op's header states its own number.
enum class Opcode : std::uint8_t {};

/// Where an op stands on the ladder from whole blocks down to the portable tensor IR.
enum class Rung : std::uint8_t { macro, fused, primitive };

[[nodiscard]] constexpr std::uint8_t number(Opcode opcode) noexcept { return static_cast<std::uint8_t>(opcode); }

}  // namespace zrt::inline ZRT_ABI
