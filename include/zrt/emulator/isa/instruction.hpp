// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/isa/instruction.hpp: one row of the instruction list, and an instruction as decoded.
#pragma once

#include <zrt/emulator/isa/isa.hpp>
#include <zrt/emulator/isa/types.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI::emulator {

struct Wave;
struct Decoded;

/// What the wave does after an instruction.
enum class Flow : u8 {
  next,     ///< go on behind it
  jump,     ///< go on at the wave's program counter, which the instruction has set
  barrier,  ///< go on behind it when the workgroup has arrived
  end,      ///< the wave has ended
  fault,    ///< the wave's error says what went wrong
};

using Execute = Flow (*)(Wave&, const Decoded&) noexcept;

/// The instruction formats, as AMD's ISA documents name them. `vop3sd` shares its opcodes with `vop3`.
enum class Encoding : u8 {
  sop1,
  sop2,
  sopc,
  sopk,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3sd,
  vop3p,
  vopd,
  ds,
  flat,
  global,
  scratch,
};

/// Whether the format is one of the vector ALU.
[[nodiscard]] constexpr bool is_vector(Encoding e) noexcept { return e >= Encoding::vop1 && e <= Encoding::vopd; }

inline constexpr u16 kAbsent = 0xffff;

/// How many bytes a memory instruction moves per lane, and how they meet the register.
struct ElementAccess {
  enum class Extend : u8 { none, zero, sign, low_half, high_half, low_half_sign, high_half_sign };
  u8 bytes = 0;
  Extend extend = Extend::none;
  bool store = false;
  bool atomic = false;
};

/// The modifiers of VOP3P that an instruction heeds, a bit for each source.
struct PackedModifiers {
  u8 op_sel = 0;
  u8 op_sel_hi = 0;
  u8 neg_lo = 0;
  u8 neg_hi = 0;
  bool clamp = false;
};

/// The function of an instruction, and the types of its operands, which follow from it.
struct Semantics {
  Execute run = nullptr;
  Type dst = Type::none;
  Type dst2 = Type::none;
  std::array<Type, 3> src{};
  ElementAccess access{};
  u8 sources = 0;
  bool scalar_dst = false;        ///< a vector instruction whose result goes to scalar registers
  bool accumulates = false;       ///< the last source is the destination
  bool packed = false;            ///< both halves of each register, chosen by op_sel and op_sel_hi
  bool writes_exec = false;       ///< v_cmpx
  u8 literal = 0xff;              ///< the source that is always a literal (fmamk, fmaak)
  u8 vector_sources = 0;          ///< the sources that must be vector registers, as bits
  u8 scalar_sources = 0;          ///< the sources that cannot be vector registers, as bits
  u8 selects = 0;                 ///< bits of op_sel that mean something beside the halves of 16-bit operands
  bool lane_permuted = true;      ///< DPP may stand before it
  bool dpp_of_registers = false;  ///< a second source beside DPP is a vector register on GFX12 too
  bool null_dst = false;          ///< the destination's field names the null register
  u16 immediate = 0xffff;         ///< the bits of a scalar instruction's immediate that mean something
  PackedModifiers modifiers{};
  bool matrix = false;     ///< its factors take twice the registers on GFX11
  bool reads_vcc = false;  ///< without a field that names it

  [[nodiscard]] constexpr Semantics with_accumulator() const noexcept {
    Semantics s = *this;
    s.accumulates = true;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_vcc() const noexcept {
    Semantics s = *this;
    s.reads_vcc = true;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_vector_sources(u8 bits) const noexcept {
    Semantics s = *this;
    s.vector_sources = bits;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_scalar_sources(u8 bits) const noexcept {
    Semantics s = *this;
    s.scalar_sources = bits;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_selects(u8 bits) const noexcept {
    Semantics s = *this;
    s.selects = bits;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_immediate(u16 bits) const noexcept {
    Semantics s = *this;
    s.immediate = bits;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_null_destination() const noexcept {
    Semantics s = *this;
    s.null_dst = true;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_lane_permutation() const noexcept {
    Semantics s = *this;
    s.lane_permuted = true;
    return s;
  }
  [[nodiscard]] constexpr Semantics without_lane_permutation() const noexcept {
    Semantics s = *this;
    s.lane_permuted = false;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_modifiers(const PackedModifiers& heeded) const noexcept {
    Semantics s = *this;
    s.modifiers = heeded;
    return s;
  }
  [[nodiscard]] constexpr Semantics with_literal(u8 source) const noexcept {
    Semantics s = *this;
    s.literal = source;
    return s;
  }
};

/// Whether an inline constant of a float is, as this source, the word that it is of f32: that of a packed integer.
[[nodiscard]] constexpr bool takes_single_constants(const Semantics& s, Type source) noexcept {
  return s.packed && (source == Type::u16 || source == Type::i16);
}

/// One instruction of the list: its name as LLVM spells it, its format, its opcode in each instruction set.
struct Instruction {
  std::string_view name;
  Encoding encoding;
  u16 gfx11;
  u16 gfx12;
  Semantics semantics;

  [[nodiscard]] constexpr u16 opcode(Isa isa) const noexcept { return isa == Isa::gfx11 ? gfx11 : gfx12; }
};

/// An operand after decoding.
struct Operand {
  enum class Kind : u8 { none, vgpr, sgpr, constant, scc };
  static constexpr u8 kNegate = 1, kAbsolute = 2, kHighHalf = 4, kDpp = 8;

  Kind kind = Kind::none;
  u8 flags = 0;
  u16 index = 0;         ///< of the first register; scalar registers by their number in the encoding
  u32 value = 0;         ///< of a constant, already of the operand's type
  u32 value_high = 0;    ///< the upper half of a constant of 64 bits
  bool literal = false;  ///< the constant is a literal of the instruction
};

/// A lane permutation on the first source (DPP8 or DPP16).
struct Dpp {
  u32 control = 0;  ///< DPP16: the control; DPP8: eight selectors of three bits
  bool eight = false;
  bool fetch_inactive = false;
  bool bound_control = false;
  u8 row_mask = 0xf;
  u8 bank_mask = 0xf;
};

/// Neighbouring registers.
struct RegisterRange {
  u16 first = 0;
  u8 count = 0;
  bool scalar = false;
};

/// Registers as bits: which an instruction reads or writes, or which wait for memory.
struct RegisterSet {
  std::array<u64, 4> vector{};
  std::array<u64, 2> scalar{};

  constexpr void add_vector(unsigned first, unsigned count) noexcept { add(vector, first, count); }
  constexpr void add_scalar(unsigned first, unsigned count) noexcept { add(scalar, first, count); }
  constexpr void add(const RegisterRange& r) noexcept {
    r.scalar ? add_scalar(r.first, r.count) : add_vector(r.first, r.count);
  }
  [[nodiscard]] constexpr bool meets(const RegisterSet& o) const noexcept {
    return ((vector[0] & o.vector[0]) | (vector[1] & o.vector[1]) | (vector[2] & o.vector[2]) |
            (vector[3] & o.vector[3]) | (scalar[0] & o.scalar[0]) | (scalar[1] & o.scalar[1])) != 0;
  }
  constexpr void add(const RegisterSet& o) noexcept {
    for (unsigned i = 0; i < 4; ++i) vector[i] |= o.vector[i];
    for (unsigned i = 0; i < 2; ++i) scalar[i] |= o.scalar[i];
  }
  constexpr void remove(const RegisterSet& o) noexcept {
    for (unsigned i = 0; i < 4; ++i) vector[i] &= ~o.vector[i];
    for (unsigned i = 0; i < 2; ++i) scalar[i] &= ~o.scalar[i];
  }

 private:
  /// Fewer than 64 of them; what lies behind the last register is left out.
  template <std::size_t kWords>
  static constexpr void add(std::array<u64, kWords>& words, unsigned first, unsigned count) noexcept {
    const unsigned word = first / 64, bit = first % 64;
    if (word >= kWords) return;
    const u64 bits = (u64{1} << count) - 1;
    words[word] |= bits << bit;
    if (bit + count > 64 && word + 1 < kWords) words[word + 1] |= bits >> (64 - bit);
  }
};

/// An instruction ready to be executed.
struct Decoded {
  Execute run = nullptr;
  const Instruction* instruction = nullptr;
  Operand dst{};
  Operand dst2{};
  std::array<Operand, 3> src{};
  i32 offset = 0;   ///< immediate: of a memory address in bytes, else the field of 16 bits as encoded
  i32 offset1 = 0;  ///< the second one of an LDS instruction with two addresses
  u8 size = 0;      ///< words in memory; 0 where no instruction begins
  u8 op_sel = 0;
  u8 op_sel_hi = 0;
  u8 neg_lo = 0;
  u8 neg_hi = 0;
  u8 output_modifier = 0;  ///< 0 none, 1 times two, 2 times four, 3 half
  bool clamp = false;
  bool has_dpp = false;
  bool returns = false;  ///< an atomic that gives the old value back
  bool swapped = false;  ///< of a dual instruction: the second half runs first
  Dpp dpp{};
  Execute paired = nullptr;  ///< of a dual instruction: what its first half does
  RegisterSet touched{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
