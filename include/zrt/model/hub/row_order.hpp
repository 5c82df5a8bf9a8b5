// SPDX-License-Identifier: Apache-2.0
// zrt/model/hub/row_order.hpp: which rows of a folder's tensor become the rows of a file's tensor.
#pragma once

#include <zrt/model/hub/tensor_rule.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model::hub {

/// What rows of heads are counted by.
struct HeadSizes {
  std::uint64_t heads = 0;
  std::uint64_t kv_heads = 0;
  std::uint64_t head_dim = 0;
  std::uint64_t turned = 0;      ///< rows of a head of queries or keys that turn
  std::uint64_t key_rows = 0;    ///< of keys of a head: what a latent row makes, or a delta net has
  std::uint64_t value_rows = 0;  ///< of its values
  std::uint64_t key_heads = 0;   ///< of a delta net; each has value_heads / key_heads heads of values
  std::uint64_t value_heads = 0;
  std::uint64_t groups = 0;                ///< of a norm
  std::uint64_t experts = 0;               ///< of matrices that lie one behind the other
  std::uint64_t left_out = 0;              ///< rows before the first position
  std::array<std::uint64_t, 2> answers{};  ///< the tokens of two answers
};

/// Multiplies rows from `first` on.
struct RowScale {
  float factor = 1.0f;
  std::uint64_t first = 0;
  std::uint64_t count = ~std::uint64_t{0};
};

/// The order of rows by `Rows`: of every period() rows of a tensor count() are taken.
class RowOrder {
 public:
  RowOrder() = default;
  /// `there` is how many rows a matrix has; for what has no order, one after the other.
  constexpr RowOrder(Rows rows, std::uint64_t there, const HeadSizes& sizes) noexcept
      : rows_(rows), sizes_(sizes), period_(there), count_(there) {
    settle(there);
  }

  [[nodiscard]] constexpr std::uint64_t period() const noexcept { return period_; }
  [[nodiscard]] constexpr std::uint64_t count() const noexcept { return count_; }
  /// Whether the numbers of heads divide the rows.
  [[nodiscard]] constexpr bool fits() const noexcept { return fits_; }

  /// The row of the folder's tensor.
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t row) const noexcept {
    switch (rows_) {
      case Rows::query_pairs:
      case Rows::key_pairs:
        return paired(row);
      case Rows::query_halves:
      case Rows::key_halves:
        return halved(row);
      case Rows::value_heads:
      case Rows::value_columns:
      case Rows::key_value_heads:
        return row < kept_ ? row : kept_ + grouped(row - kept_);
      case Rows::split_keys:
        return split_key(row);
      case Rows::split_gates:
        return of_key_head(row, group_values(), 2 * sizes_.key_rows + group_values());
      case Rows::answers:
        return sizes_.answers[row % 2];
      default:
        return row / count_ * period_ + first_ + row % count_ * step_;
    }
  }

 private:
  constexpr void settle(std::uint64_t there) noexcept {
    const std::uint64_t queries = sizes_.heads * sizes_.head_dim;
    const std::uint64_t keys = sizes_.kv_heads * sizes_.head_dim;
    const std::uint64_t fused = queries + 2 * keys;
    const std::uint64_t both = sizes_.key_rows + sizes_.value_rows;
    switch (rows_) {
      case Rows::query_pairs:
        return pair(sizes_.heads);
      case Rows::key_pairs:
        return pair(sizes_.kv_heads);
      case Rows::query_halves:
        return halve(sizes_.heads);
      case Rows::key_halves:
        return halve(sizes_.kv_heads);
      case Rows::fused_query:
        return take(fused, 0, queries);
      case Rows::fused_key:
        return take(fused, queries, keys);
      case Rows::fused_value:
        return take(fused, queries + keys, keys);
      case Rows::head_keys:
        return take(both, 0, sizes_.key_rows);
      case Rows::head_values:
        return take(both, sizes_.key_rows, sizes_.value_rows);
      case Rows::first_half:
      case Rows::first_columns:
        return take(there / 2 * 2, 0, there / 2);
      case Rows::second_half:
      case Rows::second_columns:
        return take(there / 2 * 2, there / 2, there / 2);
      case Rows::even:
      case Rows::even_columns:
      case Rows::even_values:
        return take(there / 2 * 2, 0, there / 2, 2);
      case Rows::odd:
      case Rows::odd_columns:
      case Rows::odd_values:
        return take(there / 2 * 2, 1, there / 2, 2);
      case Rows::key_value_heads:
        kept_ = 2 * sizes_.key_heads * sizes_.key_rows;
        [[fallthrough]];
      case Rows::value_heads:
      case Rows::value_columns:
        return group(there);
      case Rows::behind_padding:
        return take(there, sizes_.left_out, there - sizes_.left_out);
      case Rows::answers:
        count_ = 2;
        fits_ = sizes_.answers[0] < there && sizes_.answers[1] < there;
        return;
      case Rows::split_keys:
        return split(there, there - sizes_.key_heads * group_values());
      case Rows::split_gates:
        return split(there, sizes_.key_heads * group_values());
      case Rows::all:
      case Rows::columns:
      case Rows::stacked:
        return;
    }
  }

  constexpr void take(std::uint64_t period, std::uint64_t first, std::uint64_t count, std::uint64_t step = 1) noexcept {
    period_ = period;
    first_ = first;
    count_ = count;
    step_ = step;
    // Sums of numbers that a configuration says may wrap.
    fits_ = count != 0 && first < period && (count - 1) <= (period - first - 1) / step;
  }

  // --- halves of heads as pairs of neighbours ---

  constexpr void pair(std::uint64_t heads) noexcept {
    fits_ = heads != 0 && count_ % (2 * heads) == 0;
    head_rows_ = fits_ ? count_ / heads : 0;
  }
  [[nodiscard]] constexpr std::uint64_t paired(std::uint64_t row) const noexcept {
    const std::uint64_t within = row % head_rows_;
    return row - within + within / 2 + within % 2 * (head_rows_ / 2);
  }

  // --- pairs of neighbours as halves of what turns of a head ---

  constexpr void halve(std::uint64_t heads) noexcept {
    pair(heads);
    fits_ = fits_ && sizes_.turned % 2 == 0 && sizes_.turned <= head_rows_;
  }
  [[nodiscard]] constexpr std::uint64_t halved(std::uint64_t row) const noexcept {
    const std::uint64_t within = row % head_rows_;
    const std::uint64_t half = sizes_.turned / 2;
    return within >= sizes_.turned ? row : row - within + within % half * 2 + within / half;
  }

  // --- heads of values, in the folder side by side for each head of keys ---

  constexpr void group(std::uint64_t there) noexcept {
    const bool whole = sizes_.key_heads != 0 && sizes_.value_heads != 0 && sizes_.value_heads % sizes_.key_heads == 0;
    fits_ = whole && there > kept_ && (there - kept_) % sizes_.value_heads == 0;
    head_rows_ = fits_ ? (there - kept_) / sizes_.value_heads : 0;
  }
  [[nodiscard]] constexpr std::uint64_t grouped(std::uint64_t row) const noexcept {
    const std::uint64_t head = row / head_rows_;
    const std::uint64_t of_each = sizes_.value_heads / sizes_.key_heads;
    return (head % sizes_.key_heads * of_each + head / sizes_.key_heads) * head_rows_ + row % head_rows_;
  }

  // --- queries, keys, values and gates side by side for each head of keys ---

  /// 0 for numbers whose products may wrap.
  [[nodiscard]] constexpr std::uint64_t group_values() const noexcept {
    constexpr std::uint64_t most = 1u << 20;
    const std::uint64_t all = sizes_.key_heads | sizes_.value_heads | sizes_.key_rows | sizes_.value_rows;
    return sizes_.key_heads == 0 || all >= most ? 0 : sizes_.value_heads / sizes_.key_heads * sizes_.value_rows;
  }
  [[nodiscard]] constexpr std::uint64_t group_rows() const noexcept { return 2 * sizes_.key_rows + 2 * group_values(); }
  constexpr void split(std::uint64_t there, std::uint64_t count) noexcept {
    fits_ = group_values() != 0 && sizes_.key_rows != 0 && there == sizes_.key_heads * group_rows();
    count_ = fits_ ? count : 0;
  }
  /// Of `rows` rows of each head of keys, which begin `from` rows behind its first.
  [[nodiscard]] constexpr std::uint64_t of_key_head(std::uint64_t row, std::uint64_t rows,
                                                    std::uint64_t from) const noexcept {
    return row / rows * group_rows() + from + row % rows;
  }
  [[nodiscard]] constexpr std::uint64_t split_key(std::uint64_t row) const noexcept {
    const std::uint64_t queries = sizes_.key_heads * sizes_.key_rows;
    if (row < queries) return of_key_head(row, sizes_.key_rows, 0);
    if (row < 2 * queries) return of_key_head(row - queries, sizes_.key_rows, sizes_.key_rows);
    return of_key_head(row - 2 * queries, group_values(), 2 * sizes_.key_rows);
  }

  Rows rows_ = Rows::all;
  HeadSizes sizes_{};
  std::uint64_t period_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t step_ = 1;
  std::uint64_t kept_ = 0;
  std::uint64_t head_rows_ = 0;
  bool fits_ = true;
};

static_assert(RowOrder(Rows::query_pairs, 8, {.heads = 2})(1) == 2);
static_assert(RowOrder(Rows::query_halves, 16, {.heads = 2, .turned = 4})(9) == 10 &&
              RowOrder(Rows::query_halves, 16, {.heads = 2, .turned = 4})(10) == 9 &&
              RowOrder(Rows::query_halves, 16, {.heads = 2, .turned = 4})(13) == 13);
static_assert(RowOrder(Rows::odd, 6, {})(2) == 5 && RowOrder(Rows::odd, 6, {})(3) == 7);
static_assert(RowOrder(Rows::value_heads, 8, {.key_heads = 2, .value_heads = 4})(2) == 4);
static_assert(RowOrder(Rows::split_gates, 12, {.key_rows = 1, .value_rows = 2, .key_heads = 2, .value_heads = 2})(2) ==
              10);

}  // namespace zrt::inline ZRT_ABI::model::hub

ZRT_LOAD_TIME_END
