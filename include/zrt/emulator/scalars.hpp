// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/scalars.hpp: applies a scalar function to scalar operands and writes its result.
#pragma once

#include <zrt/emulator/lanes.hpp>

namespace zrt::inline ZRT_ABI::emulator {

namespace detail {

template <class T> inline constexpr bool kHasScc = false;
template <class T> inline constexpr bool kHasScc<WithScc<T>> = true;

template <class T> [[nodiscard]] ZRT_ALWAYS_INLINE T scalar_argument(const Wave& w, const Operand& o) noexcept {
  if constexpr (std::is_same_v<T, Scc>)
    return {w.scc};
  else if constexpr (sizeof(T) == 8)
    return std::bit_cast<T>(scalar_word(w, o, 0) | u64{scalar_word(w, o, 1)} << 32);
  else if constexpr (sizeof(T) == 2)
    return std::bit_cast<T>(static_cast<u16>(scalar_word(w, o, 0)));
  else
    return std::bit_cast<T>(scalar_word(w, o, 0));
}

template <class T> ZRT_ALWAYS_INLINE void write_scalar(Wave& w, const Operand& dst, T value) noexcept {
  if constexpr (sizeof(T) == 8)
    w.write_sgpr_pair(dst.index, std::bit_cast<u64>(value));
  else
    w.write_sgpr(dst.index, bits_of(value));
}

template <auto F, class R, class... A> struct ScalarFunction {
  static Flow run(Wave& w, const Decoded& d) noexcept { return apply(w, d, std::index_sequence_for<A...>{}); }
  static constexpr Semantics semantics() noexcept { return semantics_of<R, A...>(&run); }

 private:
  template <std::size_t... I>
  ZRT_ALWAYS_INLINE static Flow apply(Wave& w, const Decoded& d, std::index_sequence<I...>) noexcept {
    // A condition code among the arguments stands last and has no operand.
    const R result = F(scalar_argument<A>(w, d.src[I < 3 ? I : 0])...);
    if constexpr (std::is_same_v<R, bool>) {
      w.scc = result;
    } else if constexpr (kHasScc<R>) {
      write_scalar(w, d.dst, result.value);
      w.scc = result.scc;
    } else {
      write_scalar(w, d.dst, result);
    }
    return Flow::next;
  }
};

template <auto F, class R, class... A> constexpr ScalarFunction<F, R, A...> deduce_scalar(R (*)(A...)) noexcept;

}  // namespace detail

/// The semantics of a scalar instruction that is `F`; a result of bool is the condition code alone.
template <auto F>
inline constexpr Semantics kScalarOf = [] {
  Semantics s = decltype(detail::deduce_scalar<F>(+F))::semantics();
  if (s.dst == Type::mask) s.dst = Type::none;
  return s;
}();

/// An instruction that only schedules: s_nop, s_delay_alu, s_clause and the like.
inline Flow no_operation(Wave&, const Decoded&) noexcept { return Flow::next; }

/// The semantics of an instruction with a function of its own: destination, then sources.
[[nodiscard]] constexpr Semantics own_function(Execute run, Type dst = Type::none, Type a = Type::none,
                                               Type b = Type::none, Type c = Type::none) noexcept {
  Semantics s;
  s.run = run;
  s.dst = dst;
  for (const Type type : {a, b, c})
    if (type != Type::none) s.src[s.sources++] = type;
  return s;
}

}  // namespace zrt::inline ZRT_ABI::emulator
