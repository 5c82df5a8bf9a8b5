// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/isa.hpp: the instruction sets that the interpreter runs.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::emulator {

/// An instruction set: RDNA3 (gfx1100 and its kin) or RDNA4 (gfx1200, gfx1201).
enum class Isa : std::uint8_t { gfx11, gfx12 };

}  // namespace zrt::inline ZRT_ABI::emulator
