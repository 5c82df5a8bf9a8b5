// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/decode.hpp: words of machine code to instructions ready to be executed.
#pragma once

#include <zrt/backend/pm4/emulator/isa/list.hpp>
#include <zrt/core/span.hpp>

#include <initializer_list>
#include <optional>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// What decoding depends on besides the words.
struct DecodeTarget {
  Isa isa = Isa::gfx12;
  bool wave64 = false;
};

namespace detail {

[[nodiscard]] constexpr u32 field(u32 word, unsigned high, unsigned low) noexcept {
  return word >> low & static_cast<u32>((u64{1} << (high - low + 1)) - 1);
}
[[nodiscard]] constexpr i32 signed_field(u32 word, unsigned high, unsigned low) noexcept {
  const u32 top = u32{1} << (high - low);
  return static_cast<i32>((field(word, high, low) ^ top) - top);
}

/// The bits of the inline constant numbered 240 to 248 in the operand's type, as f16, f32 and f64.
struct InlineFloat {
  u16 half;
  u32 single;
  u32 upper;  ///< of an f64; the lower word is 0 but for 1/(2 pi)
};
inline constexpr auto kInlineFloats = std::to_array<InlineFloat>({{0x3800, 0x3f000000, 0x3fe00000},
                                                                  {0xb800, 0xbf000000, 0xbfe00000},
                                                                  {0x3c00, 0x3f800000, 0x3ff00000},
                                                                  {0xbc00, 0xbf800000, 0xbff00000},
                                                                  {0x4000, 0x40000000, 0x40000000},
                                                                  {0xc000, 0xc0000000, 0xc0000000},
                                                                  {0x4400, 0x40800000, 0x40100000},
                                                                  {0xc400, 0xc0800000, 0xc0100000},
                                                                  {0x3118, 0x3e22f983, 0x3fc45f30}});
inline constexpr u32 kInverseTwoPiLow = 0x6dc9c882;

/// Reads the fields of one instruction; `ok` turns false where a field has no meaning.
struct Decoder {
  Span<const u32> words;
  DecodeTarget target;
  Decoded* out;
  Decoded* second = nullptr;  ///< the other half of a dual instruction
  unsigned used = 1;
  bool ok = true;
  bool has_literal = false;
  std::array<u32, 3> claimed{};  ///< the bits that mean something, a word each

  [[nodiscard]] u32 word(unsigned i) const noexcept { return i < words.size() ? words[i] : 0; }
  /// A field of the instruction. What no field claims has to be 0.
  [[nodiscard]] u32 take(unsigned i, unsigned high, unsigned low) noexcept {
    claimed[i] |= field(~u32{0}, high, low) << low;
    return field(word(i), high, low);
  }
  /// As take, where the instruction has that field; 0 where it has not.
  [[nodiscard]] u32 take_if(bool has, unsigned i, unsigned high, unsigned low) noexcept {
    return has ? take(i, high, low) : 0;
  }
  /// The bits that `heeded` names of a field whose lowest bit is at `low`.
  [[nodiscard]] u32 take_bits(u32 heeded, unsigned i, unsigned low) noexcept {
    claimed[i] |= heeded << low;
    return word(i) >> low & heeded;
  }
  [[nodiscard]] bool all_claimed(unsigned count) const noexcept {
    for (unsigned i = 0; i < count; ++i)
      if ((word(i) & ~claimed[i]) != 0) return false;
    return true;
  }
  [[nodiscard]] u32 literal() noexcept {
    if (!has_literal) {
      has_literal = true;
      ++used;
    }
    return word(used - 1);
  }
  [[nodiscard]] unsigned register_words(Type type) const noexcept {
    return emulator::words(type, target.wave64 ? 2 : 1);
  }
  void touch(const Operand& o, Type type) noexcept {
    const unsigned count = register_words(type);
    if (o.kind == Operand::Kind::vgpr) {
      if (o.index + count > 256) ok = false;
      out->touched.add_vector(o.index, count);
    } else if (o.kind == Operand::Kind::sgpr && o.index != sgpr::kNull) {
      if (o.index + count > sgpr::kCount || !is_scalar_range(o.index, count)) ok = false;
      out->touched.add_scalar(o.index, count);
    }
  }
  /// Pairs are even, longer ranges a multiple of 4, and none goes from one kind of register into the next.
  [[nodiscard]] static constexpr bool is_scalar_range(unsigned first, unsigned count) noexcept {
    if (first % (count > 2 ? 4 : count) != 0) return false;
    for (const unsigned kind : {sgpr::kVcc, sgpr::kTtmp, sgpr::kNull})
      if (first < kind && first + count > kind) return false;
    return true;
  }
  [[nodiscard]] Operand vgpr(u32 index, Type type) noexcept {
    Operand o;
    o.kind = Operand::Kind::vgpr;
    o.index = static_cast<u16>(index);
    touch(o, type);
    return o;
  }
  /// A 16-bit operand of the short formats: bit 7 chooses the upper half of one of 128 registers. The types of a
  /// packed instruction name a half, its registers are whole.
  [[nodiscard]] Operand short_vgpr(u32 index, Type type) noexcept {
    if (!is_16_bit(type) || out->instruction->semantics.packed) return vgpr(index, type);
    Operand o = vgpr(index & 0x7fu, type);
    if ((index & 0x80u) != 0) o.flags |= Operand::kHighHalf;
    return o;
  }
  [[nodiscard]] Operand sgpr(u32 index, Type type) noexcept {
    Operand o;
    o.kind = Operand::Kind::sgpr;
    o.index = static_cast<u16>(index);
    touch(o, type);
    return o;
  }
  [[nodiscard]] Operand constant(u32 low, u32 high) const noexcept {
    Operand o;
    o.kind = Operand::Kind::constant;
    o.value = low;
    o.value_high = high;
    return o;
  }
  /// A source field of nine bits, or of eight where no vector register can be named.
  [[nodiscard]] Operand source(u32 code, Type type, bool short_format) noexcept {
    if (code >= 256) return short_format ? short_vgpr(code - 256, type) : vgpr(code - 256, type);
    if (code < 128) return sgpr(code, type);
    if (code <= 208) {
      const i64 value = code <= 192 ? i64{code} - 128 : 192 - i64{code};
      return constant(static_cast<u32>(value), static_cast<u32>(value >> 32));
    }
    if (code >= 240 && code <= 248) {
      const InlineFloat f = kInlineFloats[code - 240];
      if (is_16_bit(type)) return constant(type == Type::bf16 ? f.single >> 16 : f.half, 0);
      if (is_64_bit(type)) return constant(code == 248 ? kInverseTwoPiLow : 0, f.upper);
      return constant(f.single, 0);
    }
    Operand o;
    switch (code) {
      case 235:  // the apertures' bases and limits
      case 236:
        return constant(code == 235 ? 0 : ~u32{0}, kSharedAperture);
      case 237:
      case 238:
        return constant(code == 237 ? 0 : ~u32{0}, kPrivateAperture);
      case 253:
        o.kind = Operand::Kind::scc;
        return o;
      case 255: {
        const u32 value = literal();
        o = type == Type::f64   ? constant(0, value)
            : type == Type::i64 ? constant(value, (value >> 31) != 0 ? ~u32{0} : 0)
                                : constant(value, 0);
        o.literal = true;
        return o;
      }
      default:
        ok = false;
        return o;
    }
  }
};

inline void finish_operands(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  for (unsigned i = 0; i < 3; ++i)
    if (const bool vector = d.out->src[i].kind == Operand::Kind::vgpr;
        (vector ? s.scalar_sources : s.vector_sources) >> i & 1)
      d.ok = false;
  if (s.matrix) {
    const Operand& sum = d.out->src[2];
    if (sum.kind != Operand::Kind::vgpr && (sum.kind != Operand::Kind::constant || sum.literal)) d.ok = false;
    // GFX12 packs narrow sums by pairs, no half is chosen.
    if (d.target.isa == Isa::gfx12 && d.out->op_sel != 0) d.ok = false;
  }
  if (s.matrix && d.target.isa == Isa::gfx11) {
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned count = 2 * words(s.src[i]);
      if (d.out->src[i].index + count > 256) d.ok = false;
      d.out->touched.add_vector(d.out->src[i].index, count);
    }
    for (const Operand* o : {&d.out->dst, &d.out->src[2]}) {
      if (o->kind != Operand::Kind::vgpr) continue;
      if (o->index + 8 > 256) d.ok = false;
      d.out->touched.add_vector(o->index, 8);
    }
  }
  d.out->run = s.run;
}

/// Different scalar registers that one vector instruction reads, and its literal: two at most.
[[nodiscard]] inline bool fits_constant_bus(std::initializer_list<const Decoded*> halves) noexcept {
  unsigned registers = 0, literals = 0;
  std::array<u16, 6> seen{};
  for (const Decoded* half : halves) {
    for (const Operand& o : half->src) {
      if (o.literal) literals = 1;
      if (o.kind != Operand::Kind::sgpr || o.index == sgpr::kNull) continue;
      bool known = false;
      for (unsigned i = 0; i < registers; ++i) known = known || seen[i] == o.index;
      if (!known) seen[registers++] = o.index;
    }
  }
  return registers + literals <= 2;
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
  return narrow && s.lane_permuted && s.scalar_sources == 0 && s.sources != 0 && s.literal == 0xff && !s.packed &&
         !s.scalar_dst && s.vector_sources == 0;
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
      if (signs != 0 && (!short_format || i >= s.sources || sign_bit(s.src[i]) == 0)) d.ok = false;
      o.neg_lo |= static_cast<u8>((signs & 1u) << i);
      o.neg_hi |= static_cast<u8>(signs >> 1 << i);
    }
  }
  return 256 + field(word, 7, 0);
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
  mark_dpp(o);
}

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
  // A packed instruction of this format always takes both halves.
  if (d.out->instruction->semantics.packed) d.out->op_sel_hi = 7;
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
  if (o.has_dpp && (d.has_literal || (d.target.isa == Isa::gfx11 && s.sources > 1 && s.src[1] != Type::mask &&
                                      o.src[1].kind != Operand::Kind::vgpr)))
    d.ok = false;
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
  for (unsigned i = 0; i < s.sources; ++i) o.src[i] = d.source(d.take(1, 8 + 9 * i, 9 * i), s.src[i], false);
  o.dst = d.vgpr(d.take(0, 7, 0), s.dst);
}
inline void decode_ds(Decoder& d) noexcept {
  const Semantics& s = d.out->instruction->semantics;
  if (s.src[0] == Type::none) return;
  const bool two = s.access.bytes == 0 && s.run != &swizzle && s.run != &bpermute && s.run != &permute;
  const u32 offsets = d.take(0, 15, 0);
  d.out->offset = static_cast<i32>(two ? offsets & 0xffu : offsets);
  d.out->offset1 = static_cast<i32>(offsets >> 8);
  d.out->src[0] = d.vgpr(d.take(1, 7, 0), s.src[0]);
  if (s.src[2] != Type::none) d.out->src[2] = d.vgpr(d.take(1, 15, 8), s.src[2]);
  if (s.src[1] != Type::none) d.out->src[1] = d.vgpr(d.take(1, 23, 16), s.src[1]);
  d.out->returns = s.access.atomic && s.access.extend == Access::Extend::zero;
  if (s.dst != Type::none && (!s.access.atomic || d.out->returns)) d.out->dst = d.vgpr(d.take(1, 31, 24), s.dst);
}

/// Where the instruction set has a field of an access to global, flat or scratch memory.
struct Place {
  u8 word, high, low;
};
struct AccessPlaces {
  Place address, base, data, dst, offset, returns, scratch_address, policy;
};
inline constexpr AccessPlaces kAccess11{{1, 7, 0},  {1, 22, 16}, {1, 15, 8},  {1, 31, 24},
                                        {0, 12, 0}, {0, 14, 14}, {1, 23, 23}, {0, 15, 13}};
inline constexpr AccessPlaces kAccess12{{2, 7, 0},  {0, 6, 0},   {1, 30, 23}, {1, 7, 0},
                                        {2, 31, 8}, {1, 20, 20}, {1, 17, 17}, {1, 22, 18}};

template <const AccessPlaces& kPlaces> void decode_access(Decoder& d) noexcept {
  auto take = [&](Place p) { return d.take(p.word, p.high, p.low); };
  const Semantics& s = d.out->instruction->semantics;
  Decoded& o = *d.out;
  const Encoding encoding = o.instruction->encoding;
  const u32 base = take(kPlaces.base);
  (void)take(kPlaces.policy);
  const bool has_base = base != sgpr::kNull;
  if (has_base && (encoding == Encoding::flat || s.src[0] == Type::none)) d.ok = false;
  if (s.src[0] == Type::none) return;
  if (has_base) o.src[1] = d.sgpr(base, s.src[1]);
  if (encoding != Encoding::scratch)  // With a scalar base the vector address is an offset of 32 bits.
    o.src[0] = d.vgpr(take(kPlaces.address), has_base ? Type::u32 : Type::u64);
  else if (take(kPlaces.scratch_address) != 0)
    o.src[0] = d.vgpr(take(kPlaces.address), Type::u32);
  if (s.src[2] != Type::none) o.src[2] = d.vgpr(take(kPlaces.data), s.src[2]);
  o.returns = s.access.atomic && take(kPlaces.returns) != 0;
  if (s.dst != Type::none && (!s.access.atomic || o.returns)) o.dst = d.vgpr(take(kPlaces.dst), s.dst);
  o.offset = signed_field(take(kPlaces.offset), static_cast<unsigned>(kPlaces.offset.high - kPlaces.offset.low), 0);
  if (encoding == Encoding::flat && d.target.isa == Isa::gfx11 && o.offset < 0) d.ok = false;
}

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

/// Both halves read at once: the registers of their first sources, and those of their second fields, lie in different
/// banks of the four. Two moves of GFX12 read as they like.
[[nodiscard]] inline bool share_a_bank(Isa isa, const Decoded& x, const Decoded& y) noexcept {
  auto moves = [](const Decoded& d) { return d.instruction->semantics.sources == 1; };
  if (isa == Isa::gfx12 && moves(x) && moves(y)) return false;
  auto meet = [](const Operand& a, const Operand& b) {
    return a.kind == Operand::Kind::vgpr && b.kind == Operand::Kind::vgpr && a.index % 4 == b.index % 4;
  };
  // fmamk has its literal in the middle.
  auto second = [](const Decoded& d) -> const Operand& { return d.src[d.src[1].literal ? 2 : 1]; };
  return meet(x.src[0], y.src[0]) || meet(second(x), second(y));
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

/// One format: the bits that tell it, where its opcode is, its words without literal and DPP, how its fields are read.
struct Format {
  u32 mask, value;
  Encoding encoding;
  u8 opcode_high, opcode_low, words;
  void (*decode)(Decoder&) noexcept;
  std::optional<Isa> only{};  ///< the instruction set that it is of; empty: both
};

inline constexpr auto kFormats = std::to_array<Format>({
    {0xff800000, 0xbe800000, Encoding::sop1, 15, 8, 1, &decode_sop1},
    {0xff800000, 0xbf000000, Encoding::sopc, 22, 16, 1, &decode_sopc},
    {0xff800000, 0xbf800000, Encoding::sopp, 22, 16, 1, &decode_sopp},
    {0xf0000000, 0xb0000000, Encoding::sopk, 27, 23, 1, &decode_sopk},
    {0xc0000000, 0x80000000, Encoding::sop2, 29, 23, 1, &decode_sop2},
    {0xfe000000, 0x7e000000, Encoding::vop1, 16, 9, 1, &decode_vop1},
    {0xfe000000, 0x7c000000, Encoding::vopc, 24, 17, 1, &decode_vopc},
    {0x80000000, 0x00000000, Encoding::vop2, 30, 25, 1, &decode_vop2},
    {0xfc000000, 0xd4000000, Encoding::vop3, 25, 16, 2, &decode_vop3},
    {0xff800000, 0xcc000000, Encoding::vop3p, 22, 16, 2, &decode_vop3p},
    {0xfc000000, 0xc8000000, Encoding::vopd, 25, 22, 2, &decode_vopd},
    {0xfc000000, 0xd8000000, Encoding::ds, 25, 18, 2, &decode_ds},
    {0xfc000000, 0xf4000000, Encoding::smem, 25, 18, 2, &decode_smem, Isa::gfx11},
    {0xfc030000, 0xdc000000, Encoding::flat, 24, 18, 2, &decode_access<kAccess11>, Isa::gfx11},
    {0xfc030000, 0xdc010000, Encoding::scratch, 24, 18, 2, &decode_access<kAccess11>, Isa::gfx11},
    {0xfc030000, 0xdc020000, Encoding::global, 24, 18, 2, &decode_access<kAccess11>, Isa::gfx11},
    {0xfc000000, 0xf4000000, Encoding::smem, 18, 13, 2, &decode_smem, Isa::gfx12},
    {0xff000000, 0xec000000, Encoding::flat, 21, 14, 3, &decode_access<kAccess12>, Isa::gfx12},
    {0xff000000, 0xed000000, Encoding::scratch, 21, 14, 3, &decode_access<kAccess12>, Isa::gfx12},
    {0xff000000, 0xee000000, Encoding::global, 21, 14, 3, &decode_access<kAccess12>, Isa::gfx12},
});

}  // namespace detail

/// Decodes the instruction at the start of `words`; false where it is unknown, malformed or cut.
///
/// A dual instruction fills `second` too, which must follow `first` in memory when it is executed.
[[nodiscard]] inline bool decode(Span<const u32> words, DecodeTarget target, Decoded& first, Decoded& second) noexcept {
  first = {};
  if (words.empty()) return false;
  const u32 word = words[0];
  for (const detail::Format& f : detail::kFormats) {
    if ((word & f.mask) != f.value || f.only.value_or(target.isa) != target.isa) continue;
    const u32 opcode = detail::field(word, f.opcode_high, f.opcode_low);
    first.instruction =
        f.encoding == Encoding::vop3 ? find_vop3(target.isa, opcode) : find_instruction(target.isa, f.encoding, opcode);
    if (first.instruction == nullptr) return false;
    detail::Decoder d{words, target, &first, &second, f.words};
    d.claimed[0] = f.mask;
    (void)d.take(0, f.opcode_high, f.opcode_low);
    if (f.encoding == Encoding::vopd) second = {};
    f.decode(d);
    detail::finish_operands(d);
    if (is_vector(f.encoding) && !detail::fits_constant_bus({&first, f.encoding == Encoding::vopd ? &second : &first}))
      d.ok = false;
    if (f.encoding == Encoding::vopd) {
      first.paired = first.run;
      first.run = &detail::run_dual;
    }
    first.size = static_cast<u8>(d.used);
    return d.ok && d.all_claimed(f.words) && d.used <= words.size();
  }
  return false;
}

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
