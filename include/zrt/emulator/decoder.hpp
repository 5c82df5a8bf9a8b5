// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/decoder.hpp: the fields of one instruction read from its words, and the operands that they name.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/emulator/isa/list.hpp>

namespace zrt::inline ZRT_ABI::emulator {

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
      if (is_16_bit(type) && !takes_single_constants(out->instruction->semantics, type))
        return constant(type == Type::bf16 ? f.single >> 16 : f.half, 0);
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

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::emulator
