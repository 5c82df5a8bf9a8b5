// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/preamble.hpp: the registers that a queue needs once, before its first dispatch.
#pragma once

#include <zrt/backend/pm4/packets.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// Registers of compute unit masks that follow each other.
struct MaskRow {
  std::uint16_t offset;
  std::uint8_t count;
  Generations defined;
};
inline constexpr auto kMaskRows = std::to_array<MaskRow>({
    {register_offset("COMPUTE_STATIC_THREAD_MGMT_SE0"), 2, kEveryGeneration},
    {register_offset("COMPUTE_STATIC_THREAD_MGMT_SE2"), 2, kEveryGeneration},
    {register_offset("COMPUTE_STATIC_THREAD_MGMT_SE4"), 4, kEveryGeneration},
    {register_offset("COMPUTE_STATIC_THREAD_MGMT_SE8"), 1, kGfx12Only},
});

/// Lets dispatches use the compute units of `masks`, one word for each shader engine (its first array in the low half),
/// and none of the engines behind the last; sets the registers to 0 that no dispatch writes. A user queue of the DRM
/// driver needs it, one of KFD has masks from the start.
///
/// The writer's error is Errc::invalid_argument where there are more masks than the generation has engines.
template <class Target>
constexpr void write_preamble(PacketWriter<Target>& writer, Span<const std::uint32_t> masks) noexcept {
  std::size_t engine = 0;
  for (const MaskRow& row : kMaskRows) {
    if (!holds(row.defined, Target::generation)) continue;
    std::array<std::uint32_t, 4> values{};
    for (std::size_t i = 0; i < row.count; ++i, ++engine)
      if (engine < masks.size()) values[i] = masks[engine];
    writer.add(SetShReg{row.offset, Span<const std::uint32_t>(values).first(row.count)});
  }
  if (masks.size() > engine)
    writer.refuse(fail(Errc::invalid_argument, "masks for ", masks.size(), " shader engines, at most ", engine,
                       " expected on ", name(Target::generation)));
  writer.add(SetShReg{register_offset("COMPUTE_USER_ACCUM_"), std::array<std::uint32_t, 4>{}});
  writer.add(SetShReg{register_offset("COMPUTE_DISPATCH_TUNNEL"), std::array<std::uint32_t, 1>{}});
}

}  // namespace zrt::inline ZRT_ABI::pm4
