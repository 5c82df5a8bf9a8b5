// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/wave_start.hpp: where a wave finds its arguments and the ids of its workgroup when it starts.
#pragma once

#include <zrt/backend/pm4/registers.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// A scalar register of a wave that starts, as its number, or as one half of a trap register.
struct StartRegister {
  enum class Kind : std::uint8_t { absent, sgpr, ttmp, ttmp_low, ttmp_high };
  Kind kind = Kind::absent;
  std::uint8_t number = 0;
  friend constexpr bool operator==(const StartRegister&, const StartRegister&) = default;
};

/// The scalar registers of a wave that starts. v0 holds the ids of a lane in its workgroup: x in bits 9:0, y in 19:10,
/// z in 29:20.
struct WaveStart {
  std::uint8_t user_sgprs = 0;  ///< s0 and on, from USER_DATA
  std::array<StartRegister, 3> workgroup_id{};
  StartRegister workgroup_waves{};  ///< where TG_SIZE_EN asks for it
};

/// What RSRC2 says of a wave's start on `Target`.
template <class Target> [[nodiscard]] constexpr WaveStart wave_start(std::uint32_t rsrc2) noexcept {
  constexpr Generation g = Target::generation;
  constexpr BitField user = named_field(fields::kPgmRsrc2, "USER_SGPR", g);
  constexpr std::array<BitField, 3> enables{named_field(fields::kPgmRsrc2, "TGID_X_EN", g),
                                            named_field(fields::kPgmRsrc2, "TGID_Y_EN", g),
                                            named_field(fields::kPgmRsrc2, "TGID_Z_EN", g)};
  constexpr BitField size = named_field(fields::kPgmRsrc2, "TG_SIZE_EN", g);
  using Kind = StartRegister::Kind;
  const Span<const std::uint32_t> word(&rsrc2, 1);
  WaveStart start{.user_sgprs = static_cast<std::uint8_t>(user.get(word, 0))};
  std::uint8_t next = start.user_sgprs;
  if constexpr (Target::workgroup_ids_in_sgprs) {
    for (std::size_t i = 0; i < 3; ++i)
      if (enables[i].get(word, 0) != 0) start.workgroup_id[i] = {Kind::sgpr, next++};
  } else {
    start.workgroup_id = {{{Kind::ttmp, 9}, {Kind::ttmp_low, 7}, {Kind::ttmp_high, 7}}};
  }
  if (size.get(word, 0) != 0) start.workgroup_waves = {Kind::sgpr, next};
  return start;
}
static_assert(wave_start<Gfx1100>(0x9e).user_sgprs == 15);
static_assert(wave_start<Gfx1100>(0x9e).workgroup_id[0] == StartRegister{StartRegister::Kind::sgpr, 15});
static_assert(wave_start<Gfx1100>(0x29e).workgroup_id[1] == StartRegister{} &&
              wave_start<Gfx1100>(0x29e).workgroup_id[2] == StartRegister{StartRegister::Kind::sgpr, 16});
static_assert(wave_start<Gfx1201>(0x84).workgroup_id[1] == StartRegister{StartRegister::Kind::ttmp_low, 7});

}  // namespace zrt::inline ZRT_ABI::pm4
