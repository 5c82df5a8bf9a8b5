// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/scratch.hpp: memory for the spills and private arrays of waves, and the register that parts it.
#pragma once

#include <zrt/backend/pm4/registers.hpp>
#include <zrt/core/error.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// How many waves a chip may have at once.
struct WaveSlots {
  std::uint32_t compute_units = 0;
  std::uint32_t shader_engines = 0;
  std::uint32_t per_unit = 32;  ///< scratch slots of a compute unit
};

/// The scratch of a queue.
struct ScratchRing {
  std::uint64_t base = 0;  ///< address, a multiple of 256; who allocates `bytes` sets it
  std::uint64_t bytes = 0;
  std::uint32_t tmpring_size = 0;  ///< COMPUTE_TMPRING_SIZE
};

/// The scratch that kernels with `bytes_per_lane` bytes of scratch in a lane need: room for a wave of 64 lanes,
/// rounded up to 256 bytes, in every slot. WAVES counts the slots of one shader engine.
///
/// Errors: Errc::invalid_argument for a chip without slots, or for more than WAVESIZE can name.
template <class Target>
[[nodiscard]] constexpr Result<ScratchRing> scratch_ring(std::uint32_t bytes_per_lane,
                                                         const WaveSlots& slots) noexcept {
  constexpr std::uint64_t unit = 256;
  constexpr BitField waves = named_field(fields::kTmpringSize, "WAVES", Target::generation);
  constexpr BitField wave_size = named_field(fields::kTmpringSize, "WAVESIZE", Target::generation);
  if (bytes_per_lane == 0) return ScratchRing{};
  const std::uint64_t in_all = std::uint64_t{slots.compute_units} * slots.per_unit;
  if (slots.shader_engines == 0 || in_all < slots.shader_engines)
    return fail(Errc::invalid_argument, "a chip with ", slots.compute_units, " compute units in ", slots.shader_engines,
                " shader engines has no room for a wave");
  const std::uint64_t units = (std::uint64_t{bytes_per_lane} * 64 + unit - 1) / unit;
  if (units > wave_size.most())
    return fail(Errc::invalid_argument, "a kernel wants ", bytes_per_lane, " bytes of scratch in a lane, at most ",
                wave_size.most() * unit / 64, " can be named on ", name(Target::generation));
  std::uint64_t per_engine = in_all / slots.shader_engines;
  if (per_engine > waves.most()) per_engine = waves.most();
  ScratchRing ring{.bytes = units * unit * per_engine * slots.shader_engines};
  waves.set(Span(&ring.tmpring_size, 1), 0, per_engine);
  wave_size.set(Span(&ring.tmpring_size, 1), 0, units);
  return ring;
}
static_assert(scratch_ring<Gfx1201>(128, {.compute_units = 96, .shader_engines = 6})->tmpring_size == 0x00020200);
static_assert(scratch_ring<Gfx1201>(128, {.compute_units = 96, .shader_engines = 6})->bytes == 96 * 32 * 8192);

}  // namespace zrt::inline ZRT_ABI::pm4
