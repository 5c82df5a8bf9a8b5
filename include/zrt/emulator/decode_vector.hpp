// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/decode_vector.hpp: operands and modifiers of vector instructions: VOP1, VOP2, VOPC, VOP3 and VOP3P, with DPP.
#pragma once

#include <zrt/emulator/decoder.hpp>

#include <initializer_list>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

/// Shifts of 64 bits, by the types of their operands.
[[nodiscard]] constexpr bool shifts_pairs(const Semantics& s) noexcept {
  return s.src[0] == Type::u32 && (s.src[1] == Type::u64 || s.src[1] == Type::i64) && s.sources == 2;
}
/// Different scalar registers that one vector instruction reads, and its literal: two at most, one of 64-bit shifts.
[[nodiscard]] inline bool fits_constant_bus(std::initializer_list<const Decoded*> halves) noexcept {
  unsigned registers = 0, literals = 0, most = 2;
  std::array<u16, 6> seen{};
  for (const Decoded* half : halves) {
    if (shifts_pairs(half->instruction->semantics)) most = 1;
    for (const Operand& o : half->src) {
      if (o.literal) literals = 1;
      if (o.kind != Operand::Kind::sgpr || o.index == sgpr::kNull) continue;
      bool known = false;
      for (unsigned i = 0; i < registers; ++i) known = known || seen[i] == o.index;
      if (!known) seen[registers++] = o.index;
    }
  }
  return registers + literals <= most;
}

/// The destination of a vector instruction.
inline void vector_destination(Decoder& d, u32 code, bool short_format) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  if (s.dst == Type::none) return;
  if (s.writes_exec)
    d.out->dst = d.sgpr(emulator::sgpr::kExec, s.dst);
  else if (s.dst == Type::mask || s.scalar_dst)
    d.out->dst = code < 128 ? d.sgpr(code, s.dst) : (d.ok = false, Operand{});
  else
    d.out->dst = short_format ? d.short_vgpr(code, s.dst) : d.vgpr(code, s.dst);
}

/// Whether DPP can stand before the instruction: one of lanes, whose operands are of 32 bits or less.
[[nodiscard]] constexpr bool takes_dpp(const Semantics& s) noexcept {
  bool narrow = !is_64_bit(s.dst);
  for (unsigned i = 0; i < s.sources; ++i) narrow = narrow && !is_64_bit(s.src[i]);
  return narrow && s.lane_permuted && s.scalar_sources == 0 && s.sources != 0 && s.literal == 0xff && !s.scalar_dst &&
         s.vector_sources == 0;
}

/// The DPP word behind an instruction whose first source is one of its markers; returns the source's field.
///
/// The word has signs of its own in the short formats, those of the long one stand in the instruction.
[[nodiscard]] inline u32 take_dpp(Decoder& d, u32 source, bool short_format) noexcept {
  const bool eight = source == 233 || source == 234;
  if (source != 250 && !eight) return source;
  const u32 word = d.word(d.used++);
  Decoded& o = *d.out;
  const Semantics& s = o.instruction->semantics;
  if (!takes_dpp(s)) d.ok = false;
  o.has_dpp = true;
  o.dpp.eight = eight;
  if (eight) {
    o.dpp.control = field(word, 31, 8);
    o.dpp.fetch_inactive = source == 234;
    o.dpp.bound_control = true;
  } else {
    o.dpp.control = field(word, 16, 8);
    o.dpp.fetch_inactive = field(word, 18, 18) != 0;
    o.dpp.bound_control = field(word, 19, 19) != 0;
    o.dpp.bank_mask = static_cast<u8>(field(word, 27, 24));
    o.dpp.row_mask = static_cast<u8>(field(word, 31, 28));
    if (!is_dpp_control(o.dpp.control) || field(word, 17, 17) != 0) d.ok = false;
    for (unsigned i = 0; i < 2; ++i) {
      const u32 signs = field(word, 21 + 2 * i, 20 + 2 * i);
      // Signs of packed halves are not modelled here.
      if (signs != 0 && (!short_format || s.packed || i >= s.sources || sign_bit(s.src[i]) == 0)) d.ok = false;
      o.neg_lo |= static_cast<u8>((signs & 1u) << i);
      o.neg_hi |= static_cast<u8>(signs >> 1 << i);
    }
  }
  return 256 + field(word, 7, 0);
}
/// Whether the other sources can stand beside DPP: no literal, and where the second `is_register` no scalar as second.
[[nodiscard]] inline bool fits_dpp(const Decoder& d, bool is_register) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  const bool has_second = s.sources > 1 && s.src[1] != Type::mask;
  return !d.has_literal && !(is_register && has_second && d.out->src[1].kind != Operand::Kind::vgpr);
}
inline void mark_dpp(Decoded& o) noexcept {
  if (!o.has_dpp) return;
  o.src[0].flags |= Operand::kDpp;
  for (unsigned i = 0; i < 2; ++i) {
    if ((o.neg_lo >> i & 1) != 0) o.src[i].flags |= Operand::kNegate;
    if ((o.neg_hi >> i & 1) != 0) o.src[i].flags |= Operand::kAbsolute;
  }
}

/// Sources of a vector instruction in a short format: the field of nine bits, a register, an implied third.
inline void short_sources(Decoder& d, unsigned word, u32 dst) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  Decoded& o = *d.out;
  if (s.sources == 0) return;
  const bool two = s.sources > 1;
  o.src[0] = d.source(take_dpp(d, d.take(word, 8, 0), true), s.src[0], true);
  if (const u32 second = d.take_if(two, word, 16, 9); two) {
    // fmamk puts its literal in the middle.
    if (s.literal == 1) {
      o.src[1] = d.source(255, s.src[1], true);
      o.src[2] = d.short_vgpr(second, s.src[2]);
    } else {
      o.src[1] = d.short_vgpr(second, s.src[1]);
      if (s.literal == 2) o.src[2] = d.source(255, s.src[2], true);
      if (s.accumulates) o.src[2] = d.short_vgpr(dst, s.src[2]);
      if (s.src[2] == Type::mask) o.src[2] = d.sgpr(sgpr::kVcc, Type::mask);
    }
  }
  // A packed instruction of a short format always takes both halves.
  if (s.packed) o.op_sel_hi = 7;
  mark_dpp(o);
}

inline void decode_vop1(Decoder& d) noexcept {
  const u32 dst = d.take_if(d.out->instruction->semantics.dst != Type::none, 0, 24, 17);
  short_sources(d, 0, dst);
  vector_destination(d, dst, true);
}
inline void decode_vop2(Decoder& d) noexcept {
  const u32 dst = d.take(0, 24, 17);
  short_sources(d, 0, dst);
  vector_destination(d, dst, true);
  if (d.out->instruction->semantics.dst2 == Type::mask) d.out->dst2 = d.sgpr(sgpr::kVcc, Type::mask);
}
inline void decode_vopc(Decoder& d) noexcept {
  short_sources(d, 0, 0);
  vector_destination(d, sgpr::kVcc, true);
}

/// The sources that a modifier of the long format is for, as bits: of those that come as lanes, by type.
template <class Has> [[nodiscard]] constexpr u32 modified_sources(const Semantics& s, Has has) noexcept {
  u32 bits = 0;
  for (unsigned i = 0; i < s.sources; ++i)
    if ((s.scalar_sources >> i & 1) == 0 && has(s.src[i])) bits |= u32{1} << i;
  return bits;
}
/// Floats clamp to 0..1; a comparison of floats has the bit too. Clamping of integers is not modelled.
[[nodiscard]] constexpr bool clamps(const Semantics& s, u32 floats) noexcept {
  if (s.dst == Type::mask) return floats == (u32{1} << s.sources) - 1;
  const bool selects = s.src[2] == Type::mask;
  return !s.scalar_dst && !selects && sign_bit(s.dst) != 0;
}
inline void decode_vop3(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  Decoded& o = *d.out;
  const bool carries = s.dst2 == Type::mask;
  const u32 floats = modified_sources(s, [](Type t) { return sign_bit(t) != 0; });
  const u32 halves = modified_sources(s, is_16_bit) | (is_16_bit(s.dst) && !s.scalar_dst ? 8u : 0u) | s.selects;
  const u32 absolute = carries ? 0 : d.take_bits(floats, 0, 8), negate = d.take_bits(floats, 1, 29);
  o.op_sel = static_cast<u8>(carries ? 0 : d.take_bits(halves, 0, 11));
  o.clamp = d.take_if(clamps(s, floats), 0, 15, 15) != 0;
  // Where denormals are kept, and no other mode is modelled, the hardware leaves output modifiers out.
  o.output_modifier = static_cast<u8>(d.take(1, 28, 27));
  // fmamk and fmaak have no long form.
  if (o.output_modifier != 0 || s.literal != 0xff || s.packed) d.ok = false;
  for (unsigned i = 0; i < s.sources; ++i) {
    if (i + 1u == s.sources && s.accumulates) {
      o.src[i] = d.vgpr(d.take(0, 7, 0), s.src[i]);
    } else {
      const u32 code = d.take(1, 8 + 9 * i, 9 * i);
      o.src[i] = d.source(i == 0 ? take_dpp(d, code, false) : code, s.src[i], false);
    }
    if (s.src[i] == Type::mask && (o.src[i].kind != Operand::Kind::sgpr || o.src[i].index > sgpr::kNull)) d.ok = false;
    if ((negate >> i & 1u) != 0) o.src[i].flags |= Operand::kNegate;
    if ((absolute >> i & 1u) != 0) o.src[i].flags |= Operand::kAbsolute;
    if (is_16_bit(s.src[i]) && (o.op_sel >> i & 1) != 0) o.src[i].flags |= Operand::kHighHalf;
  }
  if (o.has_dpp && !fits_dpp(d, d.target.isa == Isa::gfx11)) d.ok = false;
  mark_dpp(o);
  if (s.dst != Type::none) vector_destination(d, d.take(0, 7, 0), false);
  if (s.writes_exec && field(d.word(0), 7, 0) != sgpr::kExec) d.ok = false;
  if (is_16_bit(s.dst) && (o.op_sel & 8) != 0) o.dst.flags |= Operand::kHighHalf;
  if (carries) o.dst2 = d.sgpr(d.take(0, 14, 8), Type::mask);
}
inline void decode_vop3p(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  Decoded& o = *d.out;
  const PackedModifiers m = s.modifiers;
  o.neg_hi = static_cast<u8>(d.take_bits(m.neg_hi, 0, 8));
  o.op_sel = static_cast<u8>(d.take_bits(m.op_sel, 0, 11));
  o.clamp = d.take_if(m.clamp, 0, 15, 15) != 0;
  o.neg_lo = static_cast<u8>(d.take_bits(m.neg_lo, 1, 29));
  o.op_sel_hi = static_cast<u8>(d.take(1, 28, 27) | d.take(0, 14, 14) << 2);
  // A source whose upper half nobody chooses has the default, which is 1.
  if ((~o.op_sel_hi & ~m.op_sel_hi & 7u) != 0) d.ok = false;
  for (unsigned i = 0; i < s.sources; ++i) {
    const u32 code = d.take(1, 8 + 9 * i, 9 * i);
    o.src[i] = d.source(i == 0 ? take_dpp(d, code, false) : code, s.src[i], false);
  }
  if (o.has_dpp) {
    if (!fits_dpp(d, d.target.isa == Isa::gfx11 || s.dpp_of_registers)) d.ok = false;
    o.src[0].flags |= Operand::kDpp;
  }
  o.dst = d.vgpr(d.take(0, 7, 0), s.dst);
}

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::emulator
