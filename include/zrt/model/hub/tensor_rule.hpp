// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/tensor_rule.hpp: which tensor of a folder becomes which tensor of a file, and how.
#pragma once

#include <zrt/core/span.hpp>

#include <array>
#include <cstdint>
#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// Which rows of a tensor are taken, and in which order.
enum class Rows : std::uint8_t {
  all,
  query_pairs,   ///< rows of a head are turned by pairs of neighbours, where the folder has pairs half a head apart
  key_pairs,     ///< the same, of heads of keys
  query_halves,  ///< of the part of a head that turns, the first row of each pair of neighbours, then the second
  key_halves,    ///< the same, of heads of keys
  fused_query,   ///< of queries, keys and values one behind the other
  fused_key,
  fused_value,
  head_keys,    ///< of each head the rows of its keys, transposed, of keys and values that one matrix makes
  head_values,  ///< of each head the rows of its values
  first_half,   ///< of each matrix
  second_half,
  even,          ///< every second, from the first on
  odd,           ///< every second, from the second on
  columns,       ///< each matrix is transposed
  even_columns,  ///< the same, and then every second row
  odd_columns,
  first_columns,  ///< each matrix is transposed, and then the first half of its rows
  second_columns,
  even_values,  ///< of each row every second value
  odd_values,
  value_heads,      ///< of a delta net: the first value head of each key head, then the second of each
  key_value_heads,  ///< the same, behind queries and keys, which stay
  value_columns,    ///< the same of columns
  split_keys,       ///< queries, keys and values that lie side by side for each key head: all queries, keys, values
  split_gates,      ///< what lies behind them for each key head
  behind_padding,   ///< of positions, those behind the padding's
  answers,          ///< of a head, those of the tokens of two answers
  stacked,          ///< all; the tensors that differ in their second number become matrices of one
};

/// What becomes of each value.
enum class ValueChange : std::uint8_t {
  same,
  mxfp4,              ///< blocks stay as they are: part 0 has their values, part 1 their scales
  plus_one,           ///< x + 1, of norms that the folder has around 0
  minus_exponential,  ///< -exp(x), of decays
};

/// Which axes of one element a tensor loses or gains.
enum class Axes : std::uint8_t {
  same,
  squeezed,  ///< all of one element go
  column,    ///< a vector becomes a matrix of one column
  groups,    ///< a vector becomes a matrix of a row for each group
  experts,   ///< a matrix becomes one for each expert
};

struct TensorChange {
  Rows rows = Rows::all;
  ValueChange values = ValueChange::same;
  Axes axes = Axes::same;
};

/// Names without `.weight` or `.bias`, which is kept, or whole ones. A * stands for a number; `to` has the first one.
/// A tensor whose `to` is empty means nothing to a file.
struct TensorRule {
  std::string_view from;
  std::string_view to{};
  TensorChange change{};
  std::uint8_t part = 0;
};

/// Text of a tensor's name that rules have otherwise; an empty `to` takes it away.
struct Renaming {
  std::string_view from;
  std::string_view to;
};

/// The numbers of a name that a pattern fits.
struct NameNumbers {
  bool fits = false;
  std::uint8_t count = 0;
  std::array<std::uint32_t, 2> at{};
};

namespace detail {

/// Takes a number from the front of `text`.
[[nodiscard]] constexpr bool take_number(std::string_view& text, std::uint32_t& number) noexcept {
  std::size_t digits = 0;
  number = 0;
  for (; digits < text.size() && digits < 9 && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    number = number * 10 + static_cast<std::uint32_t>(text[digits] - '0');
  text.remove_prefix(digits);
  return digits != 0;
}

}  // namespace detail

/// Compares a name with a pattern of at most two numbers.
[[nodiscard]] constexpr NameNumbers match_name(std::string_view pattern, std::string_view name) noexcept {
  NameNumbers numbers;
  for (; !pattern.empty(); pattern.remove_prefix(1)) {
    if (pattern[0] == '*') {
      if (numbers.count == numbers.at.size() || !detail::take_number(name, numbers.at[numbers.count])) return numbers;
      ++numbers.count;
      continue;
    }
    if (name.empty() || name[0] != pattern[0]) return numbers;
    name.remove_prefix(1);
  }
  numbers.fits = name.empty();
  return numbers;
}
static_assert(match_name("layers.*.experts.*.up", "layers.3.experts.12.up").at[1] == 12);
static_assert(!match_name("layers.*.up", "layers.x.up").fits && !match_name("layers.*", "layers.1.up").fits);

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
