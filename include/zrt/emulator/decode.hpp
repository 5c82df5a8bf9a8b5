// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/decode.hpp: words of machine code to instructions ready to be executed.
#pragma once

#include <zrt/emulator/decode_dual.hpp>
#include <zrt/emulator/decode_memory.hpp>
#include <zrt/emulator/decode_scalar.hpp>
#include <zrt/emulator/decode_vector.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

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
  if (s.reads_vcc) (void)d.sgpr(sgpr::kVcc, Type::mask);
  d.out->run = s.run;
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
    if (d.ok && is_vector(f.encoding))
      d.ok = detail::fits_constant_bus({&first, f.encoding == Encoding::vopd ? &second : &first});
    if (f.encoding == Encoding::vopd) {
      first.paired = first.run;
      first.run = &detail::run_dual;
    }
    first.size = static_cast<u8>(d.used);
    return d.ok && d.all_claimed(f.words) && d.used <= words.size();
  }
  return false;
}

}  // namespace zrt::inline ZRT_ABI::emulator
