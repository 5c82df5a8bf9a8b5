// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/literal.hpp: numbers as C spells them, exactly.
#pragma once

#include <zrt/core/scalar.hpp>
#include <zrt/plan/c/source.hpp>

#include <bit>
#include <limits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// An unsigned number; one beyond int64_t bears the suffix that C wants.
[[nodiscard]] inline Expr literal(std::uint64_t value) noexcept {
  return value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) ? Expr{value, "u"} : Expr{value};
}
[[nodiscard]] inline Expr literal(std::int64_t value) noexcept {
  // Its magnitude is no int64_t, so that the sign cannot stand before it.
  if (value == std::numeric_limits<std::int64_t>::min()) return {"INT64_MIN"};
  const auto bits = static_cast<std::uint64_t>(value);
  return value < 0 ? Expr{"-", 0 - bits} : Expr{bits};
}

namespace detail {

/// sign 0x1.fffp+e; mantissa digits without the zeros at their end.
[[nodiscard]] inline Expr hexadecimal(bool negative, bool normal, std::uint64_t mantissa, unsigned digits, int exponent,
                                      std::string_view suffix) noexcept {
  Expr text{negative ? "-0x" : "0x", normal ? "1" : "0"};
  if (mantissa != 0) text.append({"."});
  for (; mantissa != 0; --digits) {
    const std::uint64_t digit = mantissa >> (4 * (digits - 1));
    static constexpr std::string_view kDigits = "0123456789abcdef";
    text.append({std::string_view(&kDigits[digit & 15], 1)});
    mantissa -= digit << (4 * (digits - 1));
  }
  const bool below = exponent < 0;
  return text.append({below ? "p-" : "p+", static_cast<unsigned>(below ? -exponent : exponent), suffix});
}

}  // namespace detail

/// A float in hexadecimal; infinities and NaN, whose payload is lost, by the macros of <math.h>.
[[nodiscard]] inline Expr literal(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const bool negative = bits >> 31 != 0;
  const std::uint32_t field = bits >> 23 & 255u;
  const std::uint32_t mantissa = bits & 0x7fffffu;
  if (field == 255u) return {mantissa != 0 ? "NAN" : negative ? "-INFINITY" : "INFINITY"};
  if (field == 0 && mantissa == 0) return {negative ? "-0.0f" : "0.0f"};
  const int exponent = field == 0 ? -126 : static_cast<int>(field) - 127;
  return detail::hexadecimal(negative, field != 0, std::uint64_t{mantissa} << 1, 6, exponent, "f");
}
[[nodiscard]] inline Expr literal(double value) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  const std::uint64_t field = bits >> 52 & 2047u;
  const std::uint64_t mantissa = bits & 0xfffffffffffffu;
  if (field == 2047u) return {mantissa != 0 ? "NAN" : negative ? "-INFINITY" : "INFINITY"};
  if (field == 0 && mantissa == 0) return {negative ? "-0.0" : "0.0"};
  const int exponent = field == 0 ? -1022 : static_cast<int>(field) - 1023;
  return detail::hexadecimal(negative, field != 0, mantissa, 13, exponent, "");
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
