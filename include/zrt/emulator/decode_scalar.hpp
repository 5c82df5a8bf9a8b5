// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/decode_scalar.hpp: operands of scalar instructions: SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.
#pragma once

#include <zrt/emulator/decoder.hpp>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

inline void decode_sop1(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  if (s.sources > 0) d.out->src[0] = d.source(d.take(0, 7, 0), s.src[0], false);
  const u32 named = d.take_if(s.dst != Type::none || s.accumulates, 0, 22, 16);
  if (s.dst != Type::none) d.out->dst = d.sgpr(named, s.dst);
  if (s.accumulates) d.out->src[1] = d.sgpr(named, s.src[1]);
}
inline void decode_sop2(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  const u32 named = d.take(0, 22, 16);
  d.out->src[0] = d.source(d.take(0, 7, 0), s.src[0], false);
  // fmamk puts its literal in the middle.
  const unsigned second = s.literal == 1 ? 2 : 1;
  d.out->src[second] = d.source(d.take(0, 15, 8), s.src[second], false);
  if (s.literal < 3) d.out->src[s.literal] = d.source(255, s.src[s.literal], false);
  d.out->dst = d.sgpr(named, s.dst);
  if (s.accumulates) d.out->src[2] = d.sgpr(named, s.src[2]);
}
inline void decode_sopc(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  d.out->src[0] = d.source(d.take(0, 7, 0), s.src[0], false);
  d.out->src[1] = d.source(d.take(0, 15, 8), s.src[1], false);
}
inline void decode_sopk(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  const u32 bits = d.take(0, 15, 0);
  d.out->offset = static_cast<i32>(bits);
  const auto immediate = static_cast<u32>(signed_field(bits, 15, 0));
  const u32 named = d.take_if(s.dst != Type::none || s.sources != 0, 0, 22, 16);
  if (s.dst != Type::none) d.out->dst = d.sgpr(named, s.dst);
  if (s.null_dst && named != sgpr::kNull) d.ok = false;
  if (s.dst == Type::none && s.accumulates) {
    d.out->src[0] = d.sgpr(named, s.src[0]);
    d.out->src[1] = d.constant(immediate, 0);
  } else if (s.accumulates) {
    d.out->src[0] = d.constant(immediate, 0);
    d.out->src[1] = d.sgpr(named, s.src[1]);
  } else if (s.dst == Type::none && s.sources == 1) {
    d.out->src[0] = d.sgpr(named, s.src[0]);
  } else if (s.sources == 1) {
    d.out->src[0] = d.constant(immediate, 0);
  }
}
inline void decode_sopp(Decoder& d) noexcept {
  d.out->offset = static_cast<i32>(d.take_bits(d.out->instruction->semantics.immediate, 0, 0));
}
inline void decode_smem(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  if (s.dst == Type::none) return;
  const bool gfx12 = d.target.isa == Isa::gfx12;
  d.out->src[0] = d.sgpr(d.take(0, 5, 0) * 2, s.src[0]);
  d.out->src[1] = d.sgpr(d.take(1, 31, 25), s.src[1]);
  d.out->dst = d.sgpr(d.take(0, 12, 6), s.dst);
  d.out->offset = gfx12 ? signed_field(d.take(1, 23, 0), 23, 0) : signed_field(d.take(1, 20, 0), 20, 0);
  // The cache policy.
  (void)(gfx12 ? d.take(0, 24, 21) : d.take(0, 14, 13));
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::emulator
