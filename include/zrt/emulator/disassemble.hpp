// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/disassemble.hpp: decoded instructions as text, in LLVM's spelling.
#pragma once

#include <zrt/emulator/decode.hpp>
#include <zrt/emulator/memory.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// One instruction's text, held inline; what does not fit is cut.
class InstructionText {
 public:
  [[nodiscard]] constexpr std::string_view view() const noexcept { return {text_.data(), size_}; }

  constexpr InstructionText& operator<<(std::string_view piece) noexcept {
    for (const char c : piece)
      if (size_ < text_.size()) text_[size_++] = c;
    return *this;
  }
  constexpr InstructionText& operator<<(i64 value) noexcept {
    char digits[20]{};
    std::size_t n = 0;
    u64 magnitude = value < 0 ? ~static_cast<u64>(value) + 1 : static_cast<u64>(value);
    do {
      digits[n++] = static_cast<char>('0' + magnitude % 10);
      magnitude /= 10;
    } while (magnitude != 0);
    if (value < 0) *this << "-";
    while (n > 0) *this << std::string_view(&digits[--n], 1);
    return *this;
  }

 private:
  std::array<char, 192> text_{};
  std::size_t size_ = 0;
};

namespace detail {

inline constexpr auto kInlineFloatNames =
    std::to_array<std::string_view>({"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"});

/// Writes one instruction; commas go between operands.
class Disassembler {
 public:
  Disassembler(const Decoded& d, DecodeTarget target, InstructionText& out) noexcept
      : d_(d), s_(d.instruction->semantics), target_(target), out_(out) {}

  void write(std::string_view suffix) noexcept {
    out_ << d_.instruction->name << suffix;
    switch (d_.instruction->encoding) {
      case Encoding::sopp:
        return immediate();
      case Encoding::sopk:
        return scalar_immediate();
      case Encoding::smem:
        return scalar_load_operands();
      case Encoding::ds:
        return local_operands();
      case Encoding::flat:
      case Encoding::global:
      case Encoding::scratch:
        return access_operands();
      default:
        return plain_operands();
    }
  }

  /// Destination and sources as they stand in the instruction.
  void plain_operands() noexcept {
    const Encoding e = d_.instruction->encoding;
    if (d_.dst.kind != Operand::Kind::none && !s_.writes_exec) operand(d_.dst, s_.dst);
    if (d_.dst2.kind != Operand::Kind::none) operand(d_.dst2, Type::mask);
    for (unsigned i = 0; i < s_.sources; ++i) {
      if (s_.accumulates && i + 1u == s_.sources) continue;
      // A dual instruction's third source is vcc, which it does not name.
      if (e == Encoding::vopd && s_.src[i] == Type::mask) continue;
      operand(d_.src[i], s_.src[i], flags_of(i));
    }
    if (!is_vector(e)) return;
    if (e == Encoding::vop3p)
      packed_modifiers();
    else if (d_.op_sel != 0)
      list(" op_sel:", d_.op_sel, s_.selects != 0 ? 2 : s_.sources + 1u, s_.sources, 3);
    if (d_.clamp) out_ << " clamp";
    if (d_.has_dpp) dpp();
  }

 private:
  void comma() noexcept {
    out_ << (first_ ? " " : ", ");
    first_ = false;
  }
  void registers(std::string_view file, unsigned first, unsigned count) noexcept {
    out_ << file;
    if (count == 1)
      out_ << i64{first};
    else
      out_ << "[" << i64{first} << ":" << i64{first} + count - 1 << "]";
  }
  void scalar(unsigned index, unsigned count) noexcept {
    const std::string_view half = count == 2 ? "" : index % 2 == 0 ? "_lo" : "_hi";
    if (index < sgpr::kVcc)
      registers("s", index, count);
    else if (index < sgpr::kTtmp)
      out_ << "vcc" << half;
    else if (index < sgpr::kNull)
      registers("ttmp", index - sgpr::kTtmp, count);
    else if (index == sgpr::kNull)
      out_ << "null";
    else if (index == sgpr::kM0)
      out_ << "m0";
    else
      out_ << "exec" << half;
  }
  [[nodiscard]] static bool is_aperture(const Operand& o) noexcept {
    return o.value_high == kSharedAperture || o.value_high == kPrivateAperture;
  }
  void constant(const Operand& o, Type type) noexcept {
    if (o.literal) {
      out_ << hex(type == Type::f64 ? o.value_high : o.value).view();
      return;
    }
    for (std::size_t i = 0; i < kInlineFloats.size(); ++i) {
      const InlineFloat& f = kInlineFloats[i];
      const u32 upper = is_64_bit(type) ? o.value_high : o.value;
      if (upper == (takes_single_constants(s_, type) ? f.single
                    : is_16_bit(type)                ? (type == Type::bf16 ? f.single >> 16 : f.half)
                    : is_64_bit(type)                ? f.upper
                                                     : f.single)) {
        out_ << kInlineFloatNames[i];
        // The one that is not exact has the digits of its type.
        if (i + 1 == kInlineFloats.size() && is_64_bit(type)) out_ << "309189532";
        return;
      }
    }
    if (is_aperture(o)) {
      out_ << (o.value_high == kSharedAperture ? "src_shared_" : "src_private_") << (o.value == 0 ? "base" : "limit");
      return;
    }
    out_ << i64{static_cast<i32>(o.value)};
  }
  void operand(const Operand& o, Type type, u8 flags) noexcept {
    comma();
    const bool negate = (flags & Operand::kNegate) != 0, absolute = (flags & Operand::kAbsolute) != 0;
    // A constant's own sign is told from the modifier's.
    const bool enclosed = negate && !absolute && o.kind == Operand::Kind::constant && !is_aperture(o);
    if (negate) out_ << (enclosed ? "neg(" : "-");
    if (absolute) out_ << "|";
    const unsigned count = words(type, target_.wave64 ? 2 : 1);
    switch (o.kind) {
      case Operand::Kind::vgpr:
        registers("v", o.index, matrix_words(type, count));
        break;
      case Operand::Kind::sgpr:
        scalar(o.index, count);
        break;
      case Operand::Kind::scc:
        out_ << "src_scc";
        break;
      default:
        constant(o, type);
        break;
    }
    if (absolute || enclosed) out_ << (enclosed ? ")" : "|");
  }
  void operand(const Operand& o, Type type) noexcept { operand(o, type, o.flags); }
  /// Instructions of mixed precision have signs of f32, in the fields of packed ones.
  [[nodiscard]] bool is_mixed() const noexcept { return d_.instruction->name.starts_with("v_fma_mix"); }
  [[nodiscard]] u8 flags_of(unsigned source) const noexcept {
    if (!is_mixed()) return d_.src[source].flags;
    const u8 negate = (d_.neg_lo >> source & 1) != 0 ? Operand::kNegate : u8{0};
    return (d_.neg_hi >> source & 1) != 0 ? negate | Operand::kAbsolute : negate;
  }
  /// The registers of a matrix instruction's operands on GFX11.
  [[nodiscard]] unsigned matrix_words(Type type, unsigned count) const noexcept {
    if (!s_.matrix || target_.isa == Isa::gfx12) return count;
    return type == s_.dst ? 8 : 2 * count;
  }
  /// `count` bits in brackets; the bit for the destination, at `last`, stands at the end.
  void list(std::string_view name, u8 bits, unsigned count, unsigned last_place, unsigned last) noexcept {
    out_ << name << "[";
    for (unsigned i = 0; i < count; ++i) out_ << (i == 0 ? "" : ",") << i64{bits >> (i == last_place ? last : i) & 1};
    out_ << "]";
  }
  void packed_modifiers() noexcept {
    const unsigned n = s_.sources;
    const u8 all = static_cast<u8>((1u << n) - 1);
    const bool mixed = is_mixed();
    // LLVM leaves out what is the default: both halves of packed sources, f32 for mixed ones.
    if ((d_.op_sel & all) != 0) list(" op_sel:", d_.op_sel, n, n, 0);
    if ((d_.op_sel_hi & all) != (mixed ? 0 : all)) list(" op_sel_hi:", d_.op_sel_hi, n, n, 0);
    if (mixed) return;
    if ((d_.neg_lo & all) != 0) list(" neg_lo:", d_.neg_lo, n, n, 0);
    if ((d_.neg_hi & all) != 0) list(" neg_hi:", d_.neg_hi, n, n, 0);
  }
  void dpp() noexcept {
    const Dpp& p = d_.dpp;
    if (p.eight) {
      out_ << " dpp8:[";
      for (unsigned i = 0; i < 8; ++i) out_ << (i == 0 ? "" : ",") << i64{p.control >> 3 * i & 7u};
      out_ << "]" << (p.fetch_inactive ? " fi:1" : "");
      return;
    }
    const u32 kind = p.control >> 4, n = p.control & 15u;
    if (kind < 16) {
      out_ << " quad_perm:[";
      for (unsigned i = 0; i < 4; ++i) out_ << (i == 0 ? "" : ",") << i64{p.control >> 2 * i & 3u};
      out_ << "]";
    } else if (kind == 0x14) {
      out_ << (n == 0 ? " row_mirror" : " row_half_mirror");
    } else {
      constexpr std::string_view kNames[] = {" row_shl:", " row_shr:",   " row_ror:",  "",
                                             "",          " row_share:", " row_xmask:"};
      out_ << kNames[kind - 16] << i64{n};
    }
    out_ << " row_mask:" << hex(p.row_mask).view() << " bank_mask:" << hex(p.bank_mask).view();
    if (p.bound_control) out_ << " bound_ctrl:1";
    if (p.fetch_inactive) out_ << " fi:1";
  }

  void immediate() noexcept {
    const std::string_view name = d_.instruction->name;
    const auto value = static_cast<u32>(d_.offset);
    if (name == "s_delay_alu") return delay(value);
    if (name == "s_waitcnt") return wait_counts_text(value);
    if (name == "s_sendmsg" && value == 3) {
      out_ << " sendmsg(MSG_DEALLOC_VGPRS)";
      return;
    }
    constexpr std::string_view kWithout[] = {"s_endpgm", "s_code_end",   "s_barrier",    "s_wait_idle",
                                             "s_wakeup", "s_icache_inv", "s_ttracedata", "s_endpgm_saved"};
    for (const std::string_view without : kWithout)
      if (name == without) return;
    if (name.find("branch") != std::string_view::npos || name == "s_nop" || name == "s_setprio" || name == "s_sleep" ||
        name == "s_trap")
      out_ << " " << i64{value};
    else
      out_ << " " << hex(value).view();
  }
  void delay(u32 value) noexcept {
    constexpr std::string_view kIds[] = {
        "NO_DEP",        "VALU_DEP_1",    "VALU_DEP_2",        "VALU_DEP_3",   "VALU_DEP_4",   "TRANS32_DEP_1",
        "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3"};
    constexpr std::string_view kSkips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
    const u32 first = value & 15u, skip = value >> 4 & 7u, second = value >> 7 & 15u;
    if (first > 11 || second > 11 || skip > 5) {
      out_ << " " << hex(value).view();
      return;
    }
    out_ << " instid0(" << kIds[first] << ")";
    if (skip != 0) out_ << " | instskip(" << kSkips[skip] << ")";
    if (second != 0) out_ << " | instid1(" << kIds[second] << ")";
  }
  void wait_counts_text(u32 value) noexcept {
    const u32 memory = value >> 10 & 63u, scalar_and_lds = value >> 4 & 63u, exports = value & 7u;
    if (memory != 63) out_ << " vmcnt(" << i64{memory} << ")";
    if (exports != 7) out_ << " expcnt(" << i64{exports} << ")";
    if (scalar_and_lds != 63) out_ << " lgkmcnt(" << i64{scalar_and_lds} << ")";
  }
  void scalar_immediate() noexcept {
    if (d_.dst.kind != Operand::Kind::none)
      operand(d_.dst, s_.dst);
    else if (d_.src[0].kind == Operand::Kind::sgpr)
      operand(d_.src[0], s_.src[0]);
    comma();
    out_ << hex(static_cast<u32>(d_.offset)).view();
  }
  void scalar_load_operands() noexcept {
    if (s_.dst == Type::none) return;
    operand(d_.dst, s_.dst);
    operand(d_.src[0], s_.src[0]);
    comma();
    const bool has_register = d_.src[1].index != sgpr::kNull;
    if (has_register) {
      scalar(d_.src[1].index, 1);
      if (d_.offset != 0) out_ << " offset:";
    }
    if (d_.offset == 0 && target_.isa == Isa::gfx11 && !has_register)
      out_ << "null";
    else if (d_.offset != 0 || !has_register)
      out_ << (d_.offset < 0 ? "-" : "") << hex(static_cast<u32>(d_.offset < 0 ? -d_.offset : d_.offset)).view();
  }
  void local_operands() noexcept {
    if (d_.dst.kind != Operand::Kind::none) operand(d_.dst, s_.dst);
    for (const unsigned i : {0u, 2u, 1u})
      if (d_.src[i].kind != Operand::Kind::none) operand(d_.src[i], s_.src[i]);
    if (d_.instruction->name.find("2addr") != std::string_view::npos) {
      if (d_.offset != 0) out_ << " offset0:" << i64{d_.offset};
      if (d_.offset1 != 0) out_ << " offset1:" << i64{d_.offset1};
    } else if (d_.offset != 0) {
      out_ << " offset:" << i64{d_.offset};
    }
  }
  void access_operands() noexcept {
    if (s_.src[0] == Type::none) return;
    const Encoding e = d_.instruction->encoding;
    const bool has_base = d_.src[1].kind == Operand::Kind::sgpr;
    if (d_.dst.kind != Operand::Kind::none) operand(d_.dst, s_.dst);
    if (d_.src[0].kind == Operand::Kind::none) {
      comma();
      out_ << "off";
    } else {
      operand(d_.src[0], has_base || e == Encoding::scratch ? Type::u32 : Type::u64);
    }
    if (d_.src[2].kind != Operand::Kind::none) operand(d_.src[2], s_.src[2]);
    if (e != Encoding::flat) {
      if (has_base) {
        operand(d_.src[1], s_.src[1]);
      } else {
        comma();
        out_ << "off";
      }
    }
    if (d_.offset != 0) out_ << " offset:" << i64{d_.offset};
  }

  const Decoded& d_;
  const Semantics& s_;
  DecodeTarget target_;
  InstructionText& out_;
  bool first_ = true;
};

}  // namespace detail

/// The instruction at the start of `words` as text; an unknown one as its first word. `size` is its words, at least 1.
///
/// Cache policies are left out.
[[nodiscard]] inline InstructionText disassemble(Span<const u32> words, DecodeTarget target, unsigned& size) noexcept {
  InstructionText text;
  Decoded first, second;
  size = 1;
  if (words.empty()) return text;
  if (!decode(words, target, first, second)) {
    text << ".long " << hex(words[0]).view();
    return text;
  }
  size = first.size;
  const Encoding e = first.instruction->encoding;
  const bool short_format = e == Encoding::vop1 || e == Encoding::vop2 || e == Encoding::vopc;
  // The long form of an instruction that has a short one carries its name, and so does the short one then.
  const bool long_word = (words[0] & 0xfc000000u) == 0xd4000000u;
  constexpr std::string_view kOneForm[] = {"v_nop",        "v_swap_b32",  "v_permlane64_b32", "v_readfirstlane_b32",
                                           "v_fmamk_f32",  "v_fmaak_f32", "v_fmamk_f16",      "v_fmaak_f16",
                                           "v_pk_fmac_f16"};
  bool two_forms = short_format;
  for (const std::string_view name : kOneForm)
    if (first.instruction->name == name) two_forms = false;
  const std::string_view dpp = long_word || e == Encoding::vop3p ? "_e64_dpp" : e == Encoding::vopc ? "" : "_dpp";
  const std::string_view suffix = first.has_dpp ? dpp : !two_forms ? "" : long_word ? "_e64" : "_e32";
  detail::Disassembler(first, target, text).write(suffix);
  if (e == Encoding::vopd) {
    text << " :: ";
    detail::Disassembler(second, target, text).write("");
  }
  return text;
}

}  // namespace zrt::inline ZRT_ABI::emulator
