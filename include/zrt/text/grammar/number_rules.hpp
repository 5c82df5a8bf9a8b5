// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/number_rules.hpp: JSON numbers between two whole numbers as GBNF.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/text/chat/text_builder.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

/// A whole number of a sign and 64 bits.
struct WholeNumber {
  bool negative = false;
  std::uint64_t magnitude = 0;

  [[nodiscard]] friend constexpr bool operator==(WholeNumber a, WholeNumber b) noexcept {
    return a.magnitude == b.magnitude && (a.negative == b.negative || a.magnitude == 0);
  }
  [[nodiscard]] friend constexpr bool operator<(WholeNumber a, WholeNumber b) noexcept {
    const bool below_a = a.negative && a.magnitude != 0, below_b = b.negative && b.magnitude != 0;
    if (below_a != below_b) return below_a;
    return below_a ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
  }
};

/// The largest magnitude that is written, and the largest one where a schema sets no bound.
inline constexpr std::uint64_t kMostMagnitude = ~std::uint64_t{0};
inline constexpr std::uint64_t kPlainMagnitude = 9'999'999'999'999'999;

/// A keyword that bounds numbers.
struct NumberBound {
  std::string_view keyword;
  bool low;
  bool exclusive;
};
inline constexpr NumberBound kNumberBounds[] = {{"minimum", true, false},
                                                {"maximum", false, false},
                                                {"exclusiveMinimum", true, true},
                                                {"exclusiveMaximum", false, true}};

/// A bound without what stands behind its point.
struct TruncatedBound {
  WholeNumber whole;
  bool exact = true;
  bool beyond = false;  ///< what is written

  explicit TruncatedBound(const chat::Value& value) noexcept {
    if (value.is(chat::Kind::integer)) {
      const auto bits = static_cast<std::uint64_t>(value.integer);
      whole = {value.integer < 0, value.integer < 0 ? ~bits + 1 : bits};
    } else if (!value.text.empty()) {
      whole.negative = value.text[0] == '-';
      const std::string_view digits = slice(value.text, whole.negative ? 1 : 0);
      beyond = std::from_chars(digits.data(), digits.data() + digits.size(), whole.magnitude).ec != std::errc();
    } else {
      const double size = __builtin_trunc(__builtin_fabs(value.real));
      beyond = !(size < 18446744073709551616.0);
      whole = {value.real < 0, beyond ? 0 : static_cast<std::uint64_t>(size)};
      exact = beyond || size == __builtin_fabs(value.real);
    }
  }
};

/// The numbers that a schema allows.
struct NumberRange {
  WholeNumber least{.negative = true, .magnitude = kMostMagnitude};
  WholeNumber most{.negative = false, .magnitude = kMostMagnitude};
  bool has_least = false;
  bool has_most = false;
  bool above_zero = false;  ///< where `least` is 0: 0 is not in the range
  bool below_zero = false;  ///< where `most` is 0
  bool nothing = false;     ///< a bound leaves no number that is written

  /// Applies a bound. Returns which values of it are honoured, where this is none of them.
  [[nodiscard]] std::string_view narrow(const chat::Value& value, const NumberBound& bound, bool wholes) noexcept {
    if (!value.is_number() || value.is(chat::Kind::boolean)) return "numbers";
    const TruncatedBound found(value);
    const bool zero = found.exact && !found.beyond && found.whole == WholeNumber{};
    if (!wholes && !found.exact) return "whole numbers";
    if (!wholes && bound.exclusive && !zero && !found.beyond) return "0";
    (bound.low ? has_least : has_most) = true;
    if (found.beyond) {
      nothing = nothing || found.whole.negative != bound.low;
      return {};
    }
    WholeNumber edge = found.whole;
    // Of wholes, the first one that is on the right side of the bound.
    const bool inside = found.exact ? !bound.exclusive : found.whole.negative == bound.low;
    if (wholes && !inside) {
      nothing = nothing || (edge.magnitude == kMostMagnitude && edge.negative != bound.low);
      edge = neighbour(edge, bound.low);
    }
    if (!wholes && bound.exclusive) (bound.low ? above_zero : below_zero) = true;
    if (bound.low && least < edge) least = edge;
    if (!bound.low && edge < most) most = edge;
    return {};
  }
  /// Without a bound, numbers have at most as many digits as any other number, unless all within the other bound have
  /// more.
  void bound_lengths() noexcept {
    const WholeNumber low{true, kPlainMagnitude}, high{false, kPlainMagnitude};
    if (!has_least && low < most) least = low;
    if (!has_most && least < high) most = high;
  }
  [[nodiscard]] bool empty() const noexcept {
    return nothing || most < least || (least == most && least == WholeNumber{} && (above_zero || below_zero));
  }

 private:
  [[nodiscard]] static WholeNumber neighbour(WholeNumber whole, bool up) noexcept {
    if (whole.magnitude == 0) return {!up, 1};
    return {whole.negative, whole.negative == up ? whole.magnitude - 1 : whole.magnitude + 1};
  }
};

/// Writes parts of GBNF, one of which holds.
class Alternatives {
 public:
  explicit Alternatives(chat::TextBuilder& out) noexcept : out_(out) {}
  chat::TextBuilder& next() noexcept { return out_ << (std::exchange(begun_, true) ? " | " : ""); }

 private:
  chat::TextBuilder& out_;
  bool begun_ = false;
};

[[nodiscard]] inline bool is_all(std::string_view digits, char digit) noexcept {
  for (const char d : digits)
    if (d != digit) return false;
  return true;
}
[[nodiscard]] inline std::string_view nines(std::size_t count) noexcept {
  return slice("99999999999999999999", 0, count);
}

/// Writes the digits from `low` to `high`, as many as each of both has.
inline void write_between(std::string_view low, std::string_view high, chat::TextBuilder& out) noexcept {
  if (low.empty()) return;
  const std::string_view low_rest = slice(low, 1), high_rest = slice(high, 1);
  const bool low_whole = is_all(low_rest, '0'), high_whole = is_all(high_rest, '9');
  if (low[0] == high[0] && !(low_whole && high_whole)) {
    out << '"' << low[0] << "\" ";
    return write_between(low_rest, high_rest, out);
  }
  // Of the first and the last digit some numbers are meant, of those between all.
  const char first = static_cast<char>(low[0] + (low_whole ? 0 : 1));
  const char last = static_cast<char>(high[0] - (high_whole ? 0 : 1));
  out << '(';
  Alternatives parts(out);
  if (!low_whole) {
    parts.next() << '"' << low[0] << "\" ";
    write_between(low_rest, nines(low_rest.size()), out);
  }
  if (first <= last) {
    parts.next() << '[' << first << '-' << last << ']';
    if (!low_rest.empty()) out << " [0-9]{" << static_cast<std::int64_t>(low_rest.size()) << '}';
  }
  if (!high_whole) {
    parts.next() << '"' << high[0] << "\" ";
    write_between(slice("00000000000000000000", 0, high_rest.size()), high_rest, out);
  }
  out << ')';
}

/// Writes the whole numbers low..high without a sign, as one part of a rule.
inline void write_magnitudes(std::uint64_t low, std::uint64_t high, chat::TextBuilder& out) noexcept {
  char digits[2][20];
  const auto decimal = [&](std::uint64_t value, int which) {
    const char* end = std::to_chars(digits[which], digits[which] + 20, value).ptr;
    return std::string_view(digits[which], static_cast<std::size_t>(end - digits[which]));
  };
  out << '(';
  Alternatives parts(out);
  if (low == 0) parts.next() << "\"0\"";
  low = low == 0 ? 1 : low;
  const std::string_view first = decimal(low, 0), last = decimal(high, 1);
  const bool from_whole = first[0] == '1' && is_all(slice(first, 1), '0'), to_whole = is_all(last, '9');
  if (low <= high && first.size() == last.size() && !(from_whole && to_whole)) {
    parts.next();
    write_between(first, last, out);
  } else if (low <= high) {
    // Numbers of all lengths of which each is meant are one part, so that a text is at few places.
    const std::size_t from = first.size() + (from_whole ? 0 : 1), to = last.size() - (to_whole ? 0 : 1);
    if (!from_whole) {
      parts.next();
      write_between(first, nines(first.size()), out);
    }
    if (from <= to)
      parts.next() << "[1-9] [0-9]{" << static_cast<std::int64_t>(from - 1) << ',' << static_cast<std::int64_t>(to - 1)
                   << '}';
    if (!to_whole) {
      parts.next();
      write_between(slice("10000000000000000000", 0, last.size()), last, out);
    }
  }
  out << ')';
}

/// Writes the whole numbers of a range, which holds one. 0 has no sign.
inline void write_wholes(const NumberRange& range, chat::TextBuilder& out) noexcept {
  Alternatives parts(out);
  if (range.least < WholeNumber{}) {
    const bool negative = range.most < WholeNumber{};
    parts.next() << "\"-\" ";
    write_magnitudes(negative ? range.most.magnitude : 1, range.least.magnitude, out);
  }
  if (range.most < WholeNumber{}) return;
  parts.next();
  write_magnitudes(range.least < WholeNumber{} ? 0 : range.least.magnitude, range.most.magnitude, out);
}

/// Writes the numbers between two magnitudes, as alternatives of a rule: those below `high` with any digits behind the
/// point, `high` itself with zeros. They have no exponent.
inline void write_reals(std::uint64_t low, std::uint64_t high, bool above_zero, std::string_view sign,
                        Alternatives& parts, chat::TextBuilder& out) noexcept {
  if (above_zero && low == 0 && high > 0) {
    parts.next() << sign << "\"0\" above-zero";
    low = 1;
  }
  if (low < high) {
    parts.next() << sign;
    write_magnitudes(low, high - 1, out);
    out << " fraction?";
  }
  parts.next() << sign;
  write_magnitudes(high, high, out);
  out << " (\".\" \"0\"{1,16})?";
}
/// Writes the numbers of a range, which holds one. 0 has no sign.
inline void write_numbers(const NumberRange& range, chat::TextBuilder& out) noexcept {
  Alternatives parts(out);
  const bool negative = range.most < WholeNumber{};
  if (range.least < WholeNumber{})
    write_reals(negative ? range.most.magnitude : 0, range.least.magnitude, !negative, "\"-\" ", parts, out);
  if (negative || (range.most == WholeNumber{} && range.below_zero)) return;
  write_reals(range.least < WholeNumber{} ? 0 : range.least.magnitude, range.most.magnitude, range.above_zero, "",
              parts, out);
}

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
