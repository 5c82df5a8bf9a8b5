// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/lanes.hpp: reads operands into 32 lanes, applies a lane's function, writes active lanes.
#pragma once

#include <zrt/emulator/wave.hpp>

#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

/// The bit of each lane in a mask: vector code compares with a table faster than it shifts.
inline constexpr auto kLaneBits = [] {
  std::array<u32, kLanes> bits{};
  for (unsigned i = 0; i < kLanes; ++i) bits[i] = u32{1} << i;
  return bits;
}();

/// 32 lanes of one register.
struct Lanes {
  alignas(64) u32 lane[kLanes];
};

/// The source lane of `lane` under DPP within its half wave, or -1 where it is out of bounds.
[[nodiscard]] constexpr int dpp_source(const Dpp& dpp, int lane) noexcept {
  if (dpp.eight) return (lane & ~7) | static_cast<int>(dpp.control >> 3 * (lane & 7) & 7u);
  const int row = lane & ~15, at = lane & 15, n = static_cast<int>(dpp.control & 15u);
  const u32 kind = dpp.control >> 4;
  if (kind < 0x10) return (lane & ~3) | static_cast<int>(dpp.control >> 2 * (lane & 3) & 3u);
  switch (kind) {
    case 0x10:  // row_shl
      return at + n < 16 ? row + at + n : -1;
    case 0x11:  // row_shr
      return at >= n ? row + at - n : -1;
    case 0x12:  // row_ror
      return row + ((at - n) & 15);
    case 0x14:  // row_mirror, row_half_mirror
      return n == 0 ? row + 15 - at : (lane ^ 7);
    case 0x15:  // row_share
      return row + n;
    default:  // row_xmask
      return row + (at ^ n);
  }
}

/// True for the controls that the hardware has.
[[nodiscard]] constexpr bool is_dpp_control(u32 control) noexcept {
  const u32 kind = control >> 4, n = control & 15u;
  if (kind < 0x10) return true;
  if (kind >= 0x10 && kind <= 0x12) return n != 0;
  return kind == 0x14 ? n < 2 : kind == 0x15 || kind == 0x16;
}

/// The lanes that a DPP instruction may write.
[[nodiscard]] inline u32 dpp_writes(const Wave& w, const Decoded& d, unsigned half) noexcept {
  if (d.dpp.eight || (d.dpp.bound_control && d.dpp.row_mask == 0xf && d.dpp.bank_mask == 0xf)) return ~u32{0};
  u32 mask = 0;
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    if (!d.dpp.eight && ((d.dpp.row_mask >> (lane / 16 + static_cast<int>(half) * 2) & 1) == 0 ||
                         (d.dpp.bank_mask >> (lane / 4 & 3) & 1) == 0))
      continue;
    const int from = dpp_source(d.dpp, lane);
    const bool valid = from >= 0 && (d.dpp.fetch_inactive || (w.exec(half) >> from & 1u) != 0);
    if (valid || d.dpp.bound_control || d.dpp.eight) mask |= u32{1} << lane;
  }
  return mask;
}

/// The value of a scalar operand; `part` 1 is the upper word of one of 64 bits.
[[nodiscard]] inline u32 scalar_word(const Wave& w, const Operand& o, unsigned part) noexcept {
  switch (o.kind) {
    case Operand::Kind::sgpr:
      return o.index == sgpr::kNull ? 0 : w.sgpr[o.index + part];
    case Operand::Kind::constant:
      return part == 0 ? o.value : o.value_high;
    case Operand::Kind::scc:
      return part == 0 && w.scc ? 1 : 0;
    default:
      return 0;
  }
}

/// Reads one word of an operand into lanes, with its modifiers; `sign` is the sign bit within this word.
ZRT_NOINLINE inline void read_lanes(const Wave& w, const Decoded& d, const Operand& o, unsigned half, unsigned part,
                                    u32 sign, Lanes& to) noexcept {
  if (o.kind == Operand::Kind::vgpr) {
    const u32* from = w.vgpr(half, o.index + part);
    if ((o.flags & Operand::kDpp) != 0) {
      for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
        const int source = dpp_source(d.dpp, lane);
        const bool valid = source >= 0 && (d.dpp.fetch_inactive || (w.exec(half) >> source & 1u) != 0);
        to.lane[lane] = valid ? from[source] : 0;
      }
    } else {
      std::memcpy(to.lane, from, sizeof to.lane);
    }
    if ((o.flags & Operand::kHighHalf) != 0)
      for (u32& lane : to.lane) lane >>= 16;
  } else {
    u32 value = scalar_word(w, o, part);
    if ((o.flags & Operand::kHighHalf) != 0 && o.kind != Operand::Kind::constant) value >>= 16;
    for (u32& lane : to.lane) lane = value;
  }
  if ((o.flags & Operand::kAbsolute) != 0)
    for (u32& lane : to.lane) lane &= ~sign;
  if ((o.flags & Operand::kNegate) != 0)
    for (u32& lane : to.lane) lane ^= sign;
}

/// One word of an operand as lanes: the register itself, or a copy in `own` where that needs work.
[[nodiscard]] ZRT_ALWAYS_INLINE const u32* lanes_of(const Wave& w, const Decoded& d, const Operand& o, unsigned half,
                                                    unsigned part, u32 sign, Lanes& own) noexcept {
  if (o.kind == Operand::Kind::vgpr && o.flags == 0) [[likely]]
    return w.vgpr(half, o.index + part);
  read_lanes(w, d, o, half, part, sign, own);
  return own.lane;
}

/// Copies the lanes of `active` from `values` to a register.
inline void blend(u32* to, const u32* values, u32 active) noexcept {
  if (active == ~u32{0}) {
    std::memcpy(to, values, kLanes * sizeof(u32));
    return;
  }
  for (unsigned i = 0; i < kLanes; ++i) to[i] = (active & kLaneBits[i]) != 0 ? values[i] : to[i];
}

/// Clamp to 0..1 of one result; NaN clamps to 0.
template <class T> [[nodiscard]] constexpr T modified(const Decoded& d, T value) noexcept {
  if (!d.clamp) return value;
  if (!(value > T{0})) return T{0};
  return value > T{1} ? T{1} : value;
}

/// Clamp of a float result of that type.
ZRT_NOINLINE inline void modify_output(const Decoded& d, Type type, Lanes* out) noexcept {
  for (unsigned i = 0; i < kLanes; ++i) {
    u32& low = out[0].lane[i];
    if (type == Type::f32) {
      low = std::bit_cast<u32>(modified(d, std::bit_cast<f32>(low)));
    } else if (type == Type::f16) {
      low = to_f16(modified(d, to_f32(f16{static_cast<u16>(low)}))).bits;
    } else if (type == Type::f64) {
      u32& high = out[1].lane[i];
      const auto bits = std::bit_cast<u64>(modified(d, std::bit_cast<f64>(low | u64{high} << 32)));
      low = static_cast<u32>(bits);
      high = static_cast<u32>(bits >> 32);
    }
  }
}

/// Writes one word of a vector result to the active lanes.
ZRT_ALWAYS_INLINE void write_lanes(Wave& w, const Operand& dst, unsigned half, unsigned part, const u32* values,
                                   u32 active) noexcept {
  blend(w.vgpr(half, dst.index + part), values, active);
}

/// Writes 16 bits per lane and keeps the other half of the register.
inline void write_halves(Wave& w, const Operand& dst, unsigned half, const u32* values, u32 active) noexcept {
  u32* to = w.vgpr(half, dst.index);
  Lanes joined;
  if ((dst.flags & Operand::kHighHalf) != 0)
    for (unsigned i = 0; i < kLanes; ++i) joined.lane[i] = (to[i] & 0xffffu) | values[i] << 16;
  else
    for (unsigned i = 0; i < kLanes; ++i) joined.lane[i] = (to[i] & 0xffff0000u) | (values[i] & 0xffffu);
  blend(to, joined.lane, active);
}

/// Packs 32 bytes of 0 or 1 into a mask.
[[nodiscard]] inline u32 pack_mask(const u8* bytes) noexcept {
  u32 mask = 0;
  for (unsigned i = 0; i < kLanes; i += 8) {
    u64 eight = 0;
    std::memcpy(&eight, bytes + i, sizeof eight);
    mask |= static_cast<u32>(eight * 0x0102040810204080u >> 56) << i;
  }
  return mask;
}

namespace detail {

/// One argument of a lane's function, as lanes.
template <class T> struct Argument {
  const u32* low = nullptr;
  const u32* high = nullptr;
  Lanes own[sizeof(T) == 8 ? 2 : 1];

  ZRT_ALWAYS_INLINE Argument(const Wave& w, const Decoded& d, std::size_t source, unsigned half) noexcept {
    const Operand& o = d.src[source];
    constexpr u32 kSign = sign_bit(kTypeOf<T>);
    low = lanes_of(w, d, o, half, 0, sizeof(T) == 8 ? 0 : kSign, own[0]);
    if constexpr (sizeof(T) == 8) high = lanes_of(w, d, o, half, 1, kSign, own[1]);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE T operator[](unsigned i) const noexcept {
    if constexpr (sizeof(T) == 8)
      return std::bit_cast<T>(low[i] | u64{high[i]} << 32);
    else if constexpr (sizeof(T) == 2)
      return std::bit_cast<T>(static_cast<u16>(low[i]));
    else
      return std::bit_cast<T>(low[i]);
  }
};

template <> struct Argument<bool> {
  u32 mask;
  Argument(const Wave& w, const Decoded& d, std::size_t source, unsigned half) noexcept
      // A mask without a field is vcc.
      : mask(source < 3 ? scalar_word(w, d.src[source], half) : w.sgpr[sgpr::kVcc + half]) {}
  [[nodiscard]] ZRT_ALWAYS_INLINE bool operator[](unsigned i) const noexcept { return (mask & kLaneBits[i]) != 0; }
};

template <> struct Argument<LaneIndex> {
  u32 first;
  Argument(const Wave&, const Decoded&, std::size_t, unsigned half) noexcept : first(half * kLanes) {}
  [[nodiscard]] LaneIndex operator[](unsigned i) const noexcept { return {first + i}; }
};

template <class T> struct ResultOf {
  using Value = T;
  static constexpr bool with_mask = false;
};
template <class T> struct ResultOf<WithMask<T>> {
  using Value = T;
  static constexpr bool with_mask = true;
};

template <class T> [[nodiscard]] ZRT_ALWAYS_INLINE auto bits_of(T value) noexcept {
  if constexpr (sizeof(T) == 8)
    return std::bit_cast<u64>(value);
  else if constexpr (sizeof(T) == 2)
    return u32{std::bit_cast<u16>(value)};
  else
    return std::bit_cast<u32>(value);
}

template <class R, class... A> constexpr Semantics semantics_of(Execute run) noexcept {
  Semantics s;
  s.run = run;
  s.dst = kTypeOf<R>;
  if constexpr (ResultOf<R>::with_mask) s.dst2 = Type::mask;
  const Type types[] = {kTypeOf<A>..., Type::none};
  for (const Type type : types) {
    if (type == Type::none) continue;
    if (s.sources < 3)
      s.src[s.sources++] = type;
    else if (type == Type::mask)
      s.reads_vcc = true;
  }
  return s;
}

/// True where a function of 32-bit values is compiled into a loop of its own, which the compiler vectorises.
template <class T> inline constexpr bool kIsWord = sizeof(T) == 4 || std::is_same_v<T, bool>;
template <class T> inline constexpr bool kIsWord<WithMask<T>> = sizeof(T) == 4;

/// One pass of 32 lanes: `f` is a function object, or a pointer that many instructions share one pass for.
template <class F, class R, class... A> struct LanePass {
  template <std::size_t... I>
  ZRT_ALWAYS_INLINE static void pass(Wave& w, const Decoded& d, unsigned half, F f,
                                     std::index_sequence<I...>) noexcept {
    u32 active = w.exec(half);
    // A lane that DPP leaves out is as one that is not active: no result is written, and its bit of a mask is 0.
    if (d.has_dpp) active &= dpp_writes(w, d, half);
    if constexpr (std::is_same_v<R, bool>) {
      alignas(64) u8 bits[kLanes];
      compare(bits, f, Argument<A>(w, d, I, half)...);
      const u32 mask = pack_mask(bits) & active;
      w.write_sgpr(d.dst.index == sgpr::kNull ? d.dst.index : d.dst.index + half, mask);
    } else {
      using Value = typename ResultOf<R>::Value;
      Lanes out[sizeof(Value) == 8 ? 2 : 1];
      if constexpr (ResultOf<R>::with_mask) {
        alignas(64) u8 bits[kLanes];
        compute_with_mask(out, bits, f, Argument<A>(w, d, I, half)...);
        const u32 mask = pack_mask(bits) & active;
        w.write_sgpr(d.dst2.index == sgpr::kNull ? d.dst2.index : d.dst2.index + half, mask);
      } else {
        compute(out, f, Argument<A>(w, d, I, half)...);
      }
      if constexpr (sign_bit(kTypeOf<Value>) != 0)
        if (d.clamp) [[unlikely]]
          modify_output(d, kTypeOf<Value>, out);
      if constexpr (sizeof(Value) == 2) {
        write_halves(w, d.dst, half, out[0].lane, active);
      } else {
        write_lanes(w, d.dst, half, 0, out[0].lane, active);
        if constexpr (sizeof(Value) == 8) write_lanes(w, d.dst, half, 1, out[1].lane, active);
      }
    }
  }

 private:
  template <class... Arguments>
  ZRT_ALWAYS_INLINE static void compare(u8* __restrict bits, F f, const Arguments&... a) noexcept {
    for (unsigned i = 0; i < kLanes; ++i) bits[i] = f(a[i]...) ? 1 : 0;
  }
  template <class... Arguments>
  ZRT_ALWAYS_INLINE static void compute(Lanes* __restrict out, F f, const Arguments&... a) noexcept {
    for (unsigned i = 0; i < kLanes; ++i) put(out, i, f(a[i]...));
  }
  template <class... Arguments>
  ZRT_ALWAYS_INLINE static void compute_with_mask(Lanes* __restrict out, u8* __restrict bits, F f,
                                                  const Arguments&... a) noexcept {
    for (unsigned i = 0; i < kLanes; ++i) {
      const auto result = f(a[i]...);
      put(out, i, result.value);
      bits[i] = result.bit ? 1 : 0;
    }
  }
  template <class T> ZRT_ALWAYS_INLINE static void put(Lanes* __restrict out, unsigned i, T value) noexcept {
    const auto bits = bits_of(value);
    out[0].lane[i] = static_cast<u32>(bits);
    if constexpr (sizeof(T) == 8) out[1].lane[i] = static_cast<u32>(bits >> 32);
  }
};

template <class R, class... A>
[[gnu::noinline]] void called_pass(Wave& w, const Decoded& d, unsigned half, R (*f)(A...)) noexcept {
  LanePass<R (*)(A...), R, A...>::pass(w, d, half, f, std::index_sequence_for<A...>{});
}

template <auto F, bool kCalled, class R, class... A> struct LaneFunction {
  static Flow run(Wave& w, const Decoded& d) noexcept {
    for (unsigned half = 0; half < w.halves; ++half) {
      if constexpr (!kCalled && kIsWord<R> && (kIsWord<A> && ...)) {
        auto call = [](A... a) { return F(a...); };
        LanePass<decltype(call), R, A...>::pass(w, d, half, call, std::index_sequence_for<A...>{});
      } else {
        called_pass<R, A...>(w, d, half, +F);
      }
    }
    return Flow::next;
  }
  static constexpr Semantics semantics() noexcept { return semantics_of<R, A...>(&run); }
};

template <auto F, bool kCalled, class R, class... A>
constexpr LaneFunction<F, kCalled, R, A...> deduce_lanes(R (*)(A...)) noexcept;

}  // namespace detail

/// The semantics of a vector instruction that is `F` in each lane: F's arguments are the sources, its result the
/// destination.
template <auto F> inline constexpr Semantics kLanesOf = decltype(detail::deduce_lanes<F, false>(+F))::semantics();

namespace detail {

/// A shift or field extraction whose amounts are often the same in all lanes, which the baseline has vector code for.
///
/// kUniform: the sources that then are scalars, as bits.
template <auto F, unsigned kUniform, class R, class... A> struct ShiftFunction {
  static Flow run(Wave& w, const Decoded& d) noexcept {
    for (unsigned i = 0; i < sizeof...(A); ++i) {
      const bool varies = d.src[i].kind == Operand::Kind::vgpr || d.src[i].flags != 0;
      if ((kUniform >> i & 1u) != 0 && varies) return LaneFunction<F, false, R, A...>::run(w, d);
    }
    for (unsigned half = 0; half < w.halves; ++half) pass(w, d, half, std::index_sequence_for<A...>{});
    return Flow::next;
  }
  static constexpr Semantics semantics() noexcept { return semantics_of<R, A...>(&run); }

 private:
  /// A source that is the same in all lanes.
  template <class T> struct Same {
    T value;
    Same(const Wave& w, const Decoded& d, std::size_t source, unsigned) noexcept
        : value(std::bit_cast<T>(scalar_word(w, d.src[source], 0))) {}
    [[nodiscard]] T operator[](unsigned) const noexcept { return value; }
  };
  template <std::size_t... I>
  ZRT_ALWAYS_INLINE static void pass(Wave& w, const Decoded& d, unsigned half, std::index_sequence<I...>) noexcept {
    u32 active = w.exec(half);
    if (d.has_dpp) active &= dpp_writes(w, d, half);
    Lanes out;
    compute(&out, std::conditional_t < (kUniform >> I & 1u) != 0, Same<A>, Argument < A >> (w, d, I, half)...);
    write_lanes(w, d.dst, half, 0, out.lane, active);
  }
  template <class... Arguments>
  ZRT_ALWAYS_INLINE static void compute(Lanes* __restrict out, const Arguments&... a) noexcept {
    for (unsigned i = 0; i < kLanes; ++i) out->lane[i] = bits_of(F(a[i]...));
  }
};
template <auto F, unsigned kUniform, class R, class... A>
constexpr ShiftFunction<F, kUniform, R, A...> deduce_shift(R (*)(A...)) noexcept;

}  // namespace detail

/// The semantics of a shift or field extraction by the sources that `kUniform` names.
template <auto F, unsigned kUniform>
inline constexpr Semantics kShiftOf = decltype(detail::deduce_shift<F, kUniform>(+F))::semantics();

/// As kLanesOf, for a function too large to be worth a loop of its own: it is called for each lane.
template <auto F> inline constexpr Semantics kCalledOf = decltype(detail::deduce_lanes<F, true>(+F))::semantics();

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
