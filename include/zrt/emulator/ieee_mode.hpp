// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/ieee_mode.hpp: minima and maxima of GFX11, for which RSRC1's IEEE_MODE decides about NaN.
#pragma once

#include <zrt/emulator/dispatch.hpp>
#include <zrt/emulator/multiply_add.hpp>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::emulator {

namespace lane {

/// IEEE_MODE off: a number wins over every NaN.
struct NumbersWin {
  template <class T> [[nodiscard]] static constexpr T min(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, f16>)
      return half_of<([](f32 x, f32 y) { return min_num(x, y); })>(a, b);
    else
      return min_num(a, b);
  }
  template <class T> [[nodiscard]] static constexpr T max(T a, T b) noexcept {
    if constexpr (std::is_same_v<T, f16>)
      return half_of<([](f32 x, f32 y) { return max_num(x, y); })>(a, b);
    else
      return max_num(a, b);
  }
};

/// IEEE_MODE on: a signaling NaN wins, the first one, and is quiet then; a number wins over every other. AMD's pseudocode
/// of V_MIN_F32 and its like.
struct SignalingWins {
  template <class T> [[nodiscard]] static constexpr T min(T a, T b) noexcept {
    return quieted(a, b, NumbersWin::min(a, b));
  }
  template <class T> [[nodiscard]] static constexpr T max(T a, T b) noexcept {
    return quieted(a, b, NumbersWin::max(a, b));
  }

 private:
  template <class T> struct Layout;
  template <class T> [[nodiscard]] static constexpr T quieted(T a, T b, T otherwise) noexcept {
    using Bits = typename Layout<T>::Bits;
    constexpr Bits quiet = Layout<T>::quiet, infinity = Layout<T>::infinity;
    constexpr auto magnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1);
    const auto x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
    auto result = std::bit_cast<Bits>(otherwise);
    result = (y & magnitude) > infinity && (y & quiet) == 0 ? static_cast<Bits>(y | quiet) : result;
    result = (x & magnitude) > infinity && (x & quiet) == 0 ? static_cast<Bits>(x | quiet) : result;
    return std::bit_cast<T>(result);
  }
};
template <> struct SignalingWins::Layout<f16> {
  using Bits = u16;
  static constexpr Bits quiet = 0x0200, infinity = 0x7c00;
};
template <> struct SignalingWins::Layout<f32> {
  using Bits = u32;
  static constexpr Bits quiet = 0x00400000, infinity = 0x7f800000;
};
template <> struct SignalingWins::Layout<f64> {
  using Bits = u64;
  static constexpr Bits quiet = u64{1} << 51, infinity = u64{0x7ff} << 52;
};

/// The middle of three numbers; with a NaN the smallest, as the rule takes it.
template <class Rule, class T> [[nodiscard]] constexpr T med3_by(T a, T b, T c) noexcept {
  const auto is_number = [](T x) {
    if constexpr (std::is_same_v<T, f16>)
      return !is_nan(to_f32(x));
    else
      return !is_nan(x);
  };
  const auto equal = [](T x, T y) {
    if constexpr (std::is_same_v<T, f16>)
      return to_f32(x) == to_f32(y);
    else
      return x == y;
  };
  if (!is_number(a) || !is_number(b) || !is_number(c)) return Rule::min(Rule::min(a, b), c);
  const T top = Rule::max(Rule::max(a, b), c);
  if (equal(top, a)) return Rule::max(b, c);
  if (equal(top, b)) return Rule::max(a, c);
  return Rule::max(a, b);
}

}  // namespace lane

namespace detail {

template <auto F, class Rule, class R, class... A> struct Ruled {
  static constexpr R call(A... a) noexcept { return F(Rule{}, a...); }
};
template <auto F, class Rule, class Function, class R, class... A>
constexpr Ruled<F, Rule, R, A...> deduce_ruled(R (Function::*)(Rule, A...) const) noexcept;
template <auto F, class Rule>
inline constexpr auto kRuled =
    &decltype(deduce_ruled<F, Rule>(&std::remove_cv_t<decltype(F)>::template operator()<Rule>))::call;

template <Execute kPlain, Execute kIeee> Flow by_ieee_mode(Wave& w, const Decoded& d) noexcept {
  return (w.mode & kIeeeMode) != 0 ? kIeee(w, d) : kPlain(w, d);
}
template <Execute kPlain, Execute kIeee> constexpr Semantics with_ieee_mode(Semantics s) noexcept {
  s.run = &by_ieee_mode<kPlain, kIeee>;
  return s;
}

}  // namespace detail

/// The semantics of a vector instruction that is `F` in each lane, whose first argument is the rule that the wave's
/// IEEE_MODE chooses: F(rule, x, y).
template <auto F>
inline constexpr Semantics kByIeeeMode = detail::with_ieee_mode<kLanesOf<detail::kRuled<F, lane::NumbersWin>>.run,
                                                                kLanesOf<detail::kRuled<F, lane::SignalingWins>>.run>(
    kLanesOf<detail::kRuled<F, lane::NumbersWin>>);
/// The same in both halves of packed operands.
template <auto F>
inline constexpr Semantics kPackedByIeeeMode =
    detail::with_ieee_mode<kPackedOf<detail::kRuled<F, lane::NumbersWin>>.run,
                           kPackedOf<detail::kRuled<F, lane::SignalingWins>>.run>(
        kPackedOf<detail::kRuled<F, lane::NumbersWin>>);

}  // namespace zrt::inline ZRT_ABI::emulator
ZRT_FP_END
