// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/multiply_add.hpp: fused multiply-add of f32, mixed precision, packed halves and dot products.
#pragma once

#include <zrt/emulator/functions.hpp>
#include <zrt/emulator/scalars.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// The one word that a scalar operand is in all lanes, or null where that needs work.
[[nodiscard]] ZRT_ALWAYS_INLINE const u32* one_word(const Wave& w, const Operand& o) noexcept {
  if (o.flags != 0) return nullptr;
  if (o.kind == Operand::Kind::sgpr && o.index != sgpr::kNull) return &w.sgpr[o.index];
  return o.kind == Operand::Kind::constant ? &o.value : nullptr;
}

/// The sources of a multiply-add in f32.
struct MultiplyAddSources {
  OneWord one = OneWord::none;
  const u32* source[3];

  /// A scalar among the factors stays one word; other sources come from `lanes`, which takes a source's number.
  template <class Lanes> MultiplyAddSources(const Wave& w, const Decoded& d, unsigned scalars, Lanes&& lanes) noexcept {
    for (unsigned s = 0; s < 3; ++s) {
      source[s] = one == OneWord::none && (scalars >> s & 1u) != 0 ? one_word(w, d.src[s]) : nullptr;
      if (source[s] != nullptr)
        one = s == 0 ? OneWord::first : OneWord::second;
      else
        source[s] = lanes(s);
    }
  }
  /// Writes the result to the destination's active lanes.
  void multiply_add(Wave& w, const Decoded& d, unsigned half, u32 active) const noexcept {
    if (active == ~u32{0} && !d.clamp) {
      w.group->kernels.fma(one, source[0], source[1], source[2], w.vgpr(half, d.dst.index));
      return;
    }
    Lanes out;
    w.group->kernels.fma(one, source[0], source[1], source[2], out.lane);
    if (d.clamp) modify_output(d, Type::f32, &out);
    write_lanes(w, d.dst, half, 0, out.lane, active);
  }
};

/// src[0] * src[1] + src[2] in f32.
inline Flow multiply_add(Wave& w, const Decoded& d) noexcept {
  for (unsigned half = 0; half < w.halves; ++half) {
    u32 active = w.exec(half);
    if (d.has_dpp) active &= dpp_writes(w, d, half);
    Lanes own[3];
    const MultiplyAddSources factors(w, d, 3, [&](unsigned s) {
      constexpr u32 kSign = 0x80000000u;
      return lanes_of(w, d, d.src[s], half, 0, kSign, own[s]);
    });
    factors.multiply_add(w, d, half, active);
  }
  return Flow::next;
}
inline constexpr Semantics kMultiplyAdd = own_function(&multiply_add, Type::f32, Type::f32, Type::f32, Type::f32);

/// v_cvt_f32_f16.
inline Flow widen_halves(Wave& w, const Decoded& d) noexcept {
  for (unsigned half = 0; half < w.halves; ++half) {
    u32 active = w.exec(half);
    if (d.has_dpp) active &= dpp_writes(w, d, half);
    Lanes own, out;
    w.group->kernels.widen(lanes_of(w, d, d.src[0], half, 0, sign_bit(Type::f16), own), 0, out.lane);
    if (d.clamp) modify_output(d, Type::f32, &out);
    write_lanes(w, d.dst, half, 0, out.lane, active);
  }
  return Flow::next;
}

/// Where the result of v_fma_mix goes.
enum class MixResult : u8 { whole, low_half, high_half };

/// v_fma_mix: each source is f32, or the half of a register that op_sel names; neg_hi means absolute value.
template <MixResult kResult> Flow mix(Wave& w, const Decoded& d) noexcept {
  for (unsigned half = 0; half < w.halves; ++half) {
    Lanes own[3], widened[3];
    const unsigned as_they_are = ~(unsigned{d.op_sel_hi} | d.neg_hi | d.neg_lo) & 3u;
    const MultiplyAddSources factors(w, d, as_they_are, [&](unsigned s) {
      const u32* in = lanes_of(w, d, d.src[s], half, 0, 0, own[s]);
      if ((d.op_sel_hi >> s & 1) != 0) {
        w.group->kernels.widen(in, (d.op_sel >> s & 1) != 0 ? 16 : 0, widened[s].lane);
        in = widened[s].lane;
      }
      const bool absolute = (d.neg_hi >> s & 1) != 0, negate = (d.neg_lo >> s & 1) != 0;
      if (!absolute && !negate) return in;
      const u32 keep = absolute ? 0x7fffffffu : ~u32{0}, flip = negate ? 0x80000000u : 0;
      for (unsigned i = 0; i < kLanes; ++i) widened[s].lane[i] = (in[i] & keep) ^ flip;
      return static_cast<const u32*>(widened[s].lane);
    });
    const u32 active = d.has_dpp ? w.exec(half) & dpp_writes(w, d, half) : w.exec(half);
    if constexpr (kResult == MixResult::whole) {
      factors.multiply_add(w, d, half, active);
    } else {
      Lanes out;
      w.group->kernels.fma(factors.one, factors.source[0], factors.source[1], factors.source[2], out.lane);
      if (d.clamp) modify_output(d, Type::f32, &out);
      for (u32& l : out.lane) l = to_f16(lane::float_of(l)).bits;
      Operand dst = d.dst;
      dst.flags = kResult == MixResult::high_half ? Operand::kHighHalf : 0;
      write_halves(w, dst, half, out.lane, active);
    }
  }
  return Flow::next;
}
[[nodiscard]] constexpr Semantics mix_of(Execute run) noexcept {
  Semantics s = own_function(run, Type::f32, Type::f32, Type::f32, Type::f32).with_modifiers({7, 7, 7, 7, true});
  s.dpp_of_registers = true;
  return s;
}

namespace detail {

template <auto F, class R, class... A> struct PackedFunction {
  static Flow run(Wave& w, const Decoded& d) noexcept {
    for (unsigned half = 0; half < w.halves; ++half) pass(w, d, half, std::index_sequence_for<A...>{});
    return Flow::next;
  }
  static constexpr Semantics semantics() noexcept {
    Semantics s = semantics_of<R, A...>(&run);
    s.packed = true;
    s.lane_permuted = false;
    constexpr u8 kAll = (1u << sizeof...(A)) - 1;
    constexpr u8 kSigns = std::is_same_v<R, f16> ? kAll : 0;
    return s.with_modifiers({kAll, kAll, kSigns, kSigns, std::is_same_v<R, f16>});
  }

 private:
  template <std::size_t... I>
  static void pass(Wave& w, const Decoded& d, unsigned half, std::index_sequence<I...>) noexcept {
    Lanes own[sizeof...(A)];
    const u32* raw[] = {lanes_of(w, d, d.src[I], half, 0, 0, own[I])...};
    Lanes out;
    for (unsigned i = 0; i < kLanes; ++i) {
      const u16 low = apply(F(value<A>(d, raw[I][i], I, d.op_sel, d.neg_lo)...), d);
      const u16 high = apply(F(value<A>(d, raw[I][i], I, d.op_sel_hi, d.neg_hi)...), d);
      out.lane[i] = lane::joined(low, high);
    }
    const u32 active = d.has_dpp ? w.exec(half) & dpp_writes(w, d, half) : w.exec(half);
    write_lanes(w, d.dst, half, 0, out.lane, active);
  }
  template <class T> static T value(const Decoded&, u32 raw, std::size_t source, u8 select, u8 negate) noexcept {
    auto bits = static_cast<u16>((select >> source & 1) != 0 ? raw >> 16 : raw);
    if (std::is_same_v<T, f16> && (negate >> source & 1) != 0) bits ^= 0x8000u;
    return std::bit_cast<T>(bits);
  }
  static u16 apply(R result, const Decoded& d) noexcept {
    if constexpr (std::is_same_v<R, f16>)
      if (d.clamp) return to_f16(modified(d, to_f32(result))).bits;
    return std::bit_cast<u16>(result);
  }
};

template <auto F, class R, class... A> constexpr PackedFunction<F, R, A...> deduce_packed(R (*)(A...)) noexcept;

}  // namespace detail

/// The semantics of a packed instruction: F of both halves.
template <auto F> inline constexpr Semantics kPackedOf = decltype(detail::deduce_packed<F>(+F))::semantics();

/// Dot products of integers: kBits per element, elements signed by neg_lo where kMixed; clamp saturates.
template <unsigned kBits, bool kMixed> Flow integer_dot(Wave& w, const Decoded& d) noexcept {
  // An element's top bit, which is subtracted twice where the element is signed; 0 where it is not.
  constexpr u32 kTop = u32{1} << (kBits - 1);
  u32 top_a = kMixed && (d.neg_lo & 1) != 0 ? kTop : 0, top_b = kMixed && (d.neg_lo & 2) != 0 ? kTop : 0;
  // Which factor is which does not matter: one word for all lanes is the second.
  const bool swapped = one_word(w, d.src[0]) != nullptr;
  if (swapped) std::swap(top_a, top_b);
  const Operand &first = d.src[swapped ? 1 : 0], &second = d.src[swapped ? 0 : 1];
  for (unsigned half = 0; half < w.halves; ++half) {
    Lanes own_a, own_b, own_c, out;
    const u32* const word = kBits == 8 ? one_word(w, second) : nullptr;
    const u32* a = lanes_of(w, d, first, half, 0, 0, own_a);
    const u32* b = word != nullptr ? word : lanes_of(w, d, second, half, 0, 0, own_b);
    const u32* c = lanes_of(w, d, d.src[2], half, 0, 0, own_c);
    if (!d.clamp) [[likely]] {
      u32* const to = w.exec(half) == ~u32{0} ? w.vgpr(half, d.dst.index) : out.lane;
      if constexpr (kBits == 8)
        w.group->kernels.dot_bytes(word != nullptr, a, b, c, top_a, top_b, to);
      else
        for (unsigned i = 0; i < kLanes; ++i) to[i] = c[i] + dot_elements<kBits>(a[i], b[i], top_a, top_b);
      if (to != out.lane) continue;
    } else {
      for (unsigned i = 0; i < kLanes; ++i) {
        // The products' sum alone always fits.
        const u32 dot = dot_elements<kBits>(a[i], b[word != nullptr ? 0 : i], top_a, top_b);
        const i64 sum = kMixed ? i64{static_cast<i32>(c[i])} + static_cast<i32>(dot) : i64{c[i]} + dot;
        out.lane[i] = static_cast<u32>(kMixed ? lane::clamped<i64>(sum, -0x80000000ll, 0x7fffffffll)
                                              : lane::clamped<i64>(sum, 0, 0xffffffffll));
      }
    }
    write_lanes(w, d.dst, half, 0, out.lane, w.exec(half));
  }
  return Flow::next;
}

/// Dot products of two pairs: fma(a1, b1, fma(a0, b0, c)) in f32.
template <class T> Flow pair_dot(Wave& w, const Decoded& d) noexcept {
  for (unsigned half = 0; half < w.halves; ++half) {
    Lanes own_a, own_b, own_c, out;
    const u32* a = lanes_of(w, d, d.src[0], half, 0, 0, own_a);
    const u32* b = lanes_of(w, d, d.src[1], half, 0, 0, own_b);
    const u32* c = lanes_of(w, d, d.src[2], half, 0, 0, own_c);
    for (unsigned i = 0; i < kLanes; ++i) {
      f32 sum = lane::float_of(c[i] ^ ((d.neg_lo & 4) != 0 ? 0x80000000u : 0));
      for (unsigned k = 0; k < 2; ++k) {
        auto factor = [&](u32 raw, unsigned source) {
          const u8 select = k == 0 ? d.op_sel : d.op_sel_hi, negate = k == 0 ? d.neg_lo : d.neg_hi;
          auto bits = static_cast<u16>((select >> source & 1) != 0 ? raw >> 16 : raw);
          if ((negate >> source & 1) != 0) bits ^= 0x8000u;
          return to_f32(T{bits});
        };
        sum = lane::fma_f32(factor(a[i], 0), factor(b[i], 1), sum);
      }
      out.lane[i] = lane::bits(d.clamp ? modified(d, sum) : sum);
    }
    const u32 active = d.has_dpp ? w.exec(half) & dpp_writes(w, d, half) : w.exec(half);
    write_lanes(w, d.dst, half, 0, out.lane, active);
  }
  return Flow::next;
}
inline constexpr PackedModifiers kPairDot{3, 3, 7, 3, true}, kMixedDot{0, 0, 3, 0, true},
    kUnsignedDot{0, 0, 0, 0, true};
/// `factor` is what an inline constant is of: of floats of 16 bits it stands in the lower half.
[[nodiscard]] constexpr Semantics dot_of(Execute run, Type sum, const PackedModifiers& heeded,
                                         Type factor = Type::u32) noexcept {
  return own_function(run, sum, factor, factor, sum).with_modifiers(heeded).without_lane_permutation();
}
/// A dot product of pairs that is added to its destination.
[[nodiscard]] constexpr Semantics added_dot(Execute run, Type factor) noexcept {
  Semantics s = own_function(run, Type::f32, factor, factor, Type::f32).with_accumulator();
  s.packed = true;
  return s;
}

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
