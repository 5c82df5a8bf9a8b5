// SPDX-License-Identifier: Apache-2.0
// zrt/ops/fold.hpp: sum, maximum or minimum of a sequence in the order that sums have.
#pragma once

#include <zrt/ops/accumulate.hpp>
#include <zrt/quant/dot.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Folds domain values in the order in which they are taken.
///
/// Sums of floats: dot16 with ones; of integers modulo 2^64. maximum and minimum ignore NaN and keep
/// the first of equal numbers.
template <DomainValue T> class Fold {
 public:
  /// `accumulator` is the type that the result is rounded to; see `identity`.
  Fold(ReduceKind kind, DType accumulator) noexcept : kind_(kind), best_(identity<T>(kind, accumulator)) {}

  void take(const T* x, std::uint64_t count) noexcept {
    for (std::uint64_t i = 0; i < count; ++i) {
      if (kind_ != ReduceKind::sum)
        best_ = fold(kind_, best_, x[i]);
      else if constexpr (std::integral<T>)
        lanes_[0] += static_cast<std::uint64_t>(x[i]);
      else
        lanes_[taken_++ % 16] += math::sealed(x[i]);
    }
  }

  /// The folded value; uses the lanes of a sum up.
  [[nodiscard]] T result() noexcept {
    return kind_ == ReduceKind::sum ? static_cast<T>(quant::reduce_tree(lanes_.data())) : best_;
  }

 private:
  using Lane = std::conditional_t<std::integral<T>, std::uint64_t, T>;
  ReduceKind kind_;
  T best_;
  std::uint64_t taken_ = 0;
  std::array<Lane, 16> lanes_{};
};

}  // namespace zrt::inline ZRT_ABI::ops
