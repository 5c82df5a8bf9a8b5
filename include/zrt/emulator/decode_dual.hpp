// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/decode_dual.hpp: dual instructions: VOPD, how they decode and how they run.
#pragma once

#include <zrt/emulator/decode_vector.hpp>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

/// Runs both halves; each sees the registers as they were before either.
inline Flow run_dual(Wave& w, const Decoded& d) noexcept {
  const Decoded& second = (&d)[1];
  if (d.swapped) {
    (void)second.run(w, second);
    return d.paired(w, d);
  }
  auto reads = [](const Decoded& reader, const Decoded& writer) {
    for (const Operand& o : reader.src)
      if (o.kind == Operand::Kind::vgpr && o.index == writer.dst.index) return true;
    return false;
  };
  if (!reads(second, d)) {
    (void)d.paired(w, d);
    return second.run(w, second);
  }
  // Each reads what the other writes: the first half's result waits aside.
  Lanes old[2], result[2];
  for (unsigned half = 0; half < w.halves; ++half)
    std::memcpy(old[half].lane, w.vgpr(half, d.dst.index), sizeof old[half].lane);
  (void)d.paired(w, d);
  for (unsigned half = 0; half < w.halves; ++half) {
    std::memcpy(result[half].lane, w.vgpr(half, d.dst.index), sizeof result[half].lane);
    std::memcpy(w.vgpr(half, d.dst.index), old[half].lane, sizeof old[half].lane);
  }
  (void)second.run(w, second);
  for (unsigned half = 0; half < w.halves; ++half)
    std::memcpy(w.vgpr(half, d.dst.index), result[half].lane, sizeof result[half].lane);
  return Flow::next;
}

/// Both halves read at once: the registers of their first sources, and those of their second ones, lie in different banks
/// of the four, and of their third ones (an addend of fmamk, or what is added to) one is even and one odd. Two moves of
/// GFX12 read as they like.
[[nodiscard]] inline bool share_a_bank(Isa isa, const Decoded& x, const Decoded& y) noexcept {
  auto moves = [](const Decoded& d) { return d.instruction->semantics.sources == 1; };
  if (isa == Isa::gfx12 && moves(x) && moves(y)) return false;
  auto meet = [&](unsigned source, unsigned banks) {
    const Operand &a = x.src[source], &b = y.src[source];
    return a.kind == Operand::Kind::vgpr && b.kind == Operand::Kind::vgpr && a.index % banks == b.index % banks;
  };
  return meet(0, 4) || meet(1, 4) || meet(2, 2);
}

inline void decode_vopd(Decoder& d) noexcept {
  const Instruction* y = find_instruction(d.target.isa, Encoding::vopd, d.take(0, 21, 17));
  if (y == nullptr || d.target.wave64) {
    d.ok = false;
    return;
  }
  const u32 dst_x = d.take(1, 31, 24), dst_y = d.take(1, 23, 17) << 1 | (~dst_x & 1u);
  short_sources(d, 0, dst_x);
  vector_destination(d, dst_x, true);
  Decoded* first = d.out;
  d.second->instruction = y;
  d.out = d.second;
  short_sources(d, 1, dst_y);
  vector_destination(d, dst_y, true);
  d.second->run = y->semantics.run;
  d.out = first;
  if (first->has_dpp || d.second->has_dpp || share_a_bank(d.target.isa, *first, *d.second)) d.ok = false;
  first->touched.add(d.second->touched);
  bool first_reads_second = false;
  for (const Operand& o : first->src)
    if (o.kind == Operand::Kind::vgpr && o.index == dst_y) first_reads_second = true;
  bool second_reads_first = false;
  for (const Operand& o : d.second->src)
    if (o.kind == Operand::Kind::vgpr && o.index == dst_x) second_reads_first = true;
  first->swapped = second_reads_first && !first_reads_second;
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::emulator
