// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/cross_lane.hpp: vector instructions in which lanes see each other's registers.
#pragma once

#include <zrt/emulator/scalars.hpp>

namespace zrt::inline ZRT_ABI::emulator {

[[nodiscard]] inline u32 lane_value(const Wave& w, const Operand& o, u32 lane) noexcept {
  return o.kind == Operand::Kind::vgpr ? w.vgpr(lane / kLanes, o.index)[lane % kLanes] : scalar_word(w, o, 0);
}

/// The first active lane's value; lane 0's where none is active.
inline Flow read_first_lane(Wave& w, const Decoded& d) noexcept {
  const u64 exec = w.exec_all();
  w.write_sgpr(d.dst.index, lane_value(w, d.src[0], exec == 0 ? 0 : static_cast<u32>(std::countr_zero(exec))));
  return Flow::next;
}
inline Flow read_lane(Wave& w, const Decoded& d) noexcept {
  w.write_sgpr(d.dst.index, lane_value(w, d.src[0], scalar_word(w, d.src[1], 0) % w.lanes()));
  return Flow::next;
}
/// Writes whatever exec says.
inline Flow write_lane(Wave& w, const Decoded& d) noexcept {
  const u32 lane = scalar_word(w, d.src[1], 0) % w.lanes();
  w.vgpr(lane / kLanes, d.dst.index)[lane % kLanes] = scalar_word(w, d.src[0], 0);
  return Flow::next;
}

inline Flow swap_registers(Wave& w, const Decoded& d) noexcept {
  for (unsigned half = 0; half < w.halves; ++half) {
    Lanes a, b;
    std::memcpy(a.lane, w.vgpr(half, d.dst.index), sizeof a.lane);
    std::memcpy(b.lane, w.vgpr(half, d.src[0].index), sizeof b.lane);
    write_lanes(w, d.dst, half, 0, b.lane, w.exec(half));
    write_lanes(w, d.src[0], half, 0, a.lane, w.exec(half));
  }
  return Flow::next;
}

/// The halves of a wave64 exchange; a wave32 copies.
inline Flow permlane64(Wave& w, const Decoded& d) noexcept {
  Lanes out[2];
  for (unsigned half = 0; half < w.halves; ++half)
    std::memcpy(out[half].lane, w.vgpr(w.halves - 1 - half, d.src[0].index), sizeof out[half].lane);
  for (unsigned half = 0; half < w.halves; ++half) write_lanes(w, d.dst, half, 0, out[half].lane, w.exec(half));
  return Flow::next;
}

/// v_permlane16 and v_permlanex16: within rows of 16, or from the neighbouring row. The selectors are nibbles of two
/// scalars, or, for the _var forms, a register. op_sel bit 0 reads inactive lanes, bit 1 gives 0 for them.
template <bool kOtherRow, bool kVariable> Flow permlane16(Wave& w, const Decoded& d) noexcept {
  const bool fetch_inactive = (d.op_sel & 1) != 0, bound_control = (d.op_sel & 2) != 0;
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32* data = w.vgpr(half, d.src[0].index);
    const u32* old = w.vgpr(half, d.dst.index);
    Lanes out;
    for (unsigned i = 0; i < kLanes; ++i) {
      const u32 at = i % 16;
      const u32 choice =
          kVariable ? w.vgpr(half, d.src[1].index)[i] : scalar_word(w, d.src[at < 8 ? 1 : 2], 0) >> 4 * (at % 8);
      const u32 from = ((i & 16u) ^ (kOtherRow ? 16u : 0u)) | (choice & 15u);
      const bool live = fetch_inactive || (w.exec(half) >> from & 1u) != 0;
      out.lane[i] = live ? data[from] : bound_control ? 0 : old[i];
    }
    write_lanes(w, d.dst, half, 0, out.lane, w.exec(half));
  }
  return Flow::next;
}

}  // namespace zrt::inline ZRT_ABI::emulator
