// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/fold_run.hpp: a fold of runs of domain values, sixteen lanes side by side.
#pragma once

#include <zrt/ops/accumulate.hpp>

#include <type_traits>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

/// What ops::Fold gives for the same values in the same order, with the kind known to the compiler.
template <ops::ReduceKind kKind, DomainValue T> class FoldRun {
 public:
  explicit FoldRun(DType accumulator) noexcept : best_(ops::identity<T>(kKind, accumulator)) {}

  void take(const T* x, std::uint64_t count) noexcept {
    if constexpr (kKind != ops::ReduceKind::sum) {
      for (std::uint64_t i = 0; i < count; ++i) best_ = ops::fold(kKind, best_, x[i]);
    } else {
      std::uint64_t i = 0;
      for (; i < count && taken_ % 16 != 0; ++i, ++taken_) lanes_[taken_ % 16] += static_cast<Lane>(x[i]);
      for (; i + 16 <= count; i += 16)
        for (std::size_t lane = 0; lane < 16; ++lane) lanes_[lane] += static_cast<Lane>(x[i + lane]);
      for (; i < count; ++i, ++taken_) lanes_[taken_ % 16] += static_cast<Lane>(x[i]);
    }
  }

  /// The folded value; uses the lanes of a sum up.
  [[nodiscard]] T result() noexcept {
    if constexpr (kKind != ops::ReduceKind::sum) return best_;
    for (std::size_t half = 8; half != 0; half /= 2)
      for (std::size_t lane = 0; lane < half; ++lane) lanes_[lane] += lanes_[lane + half];
    return static_cast<T>(lanes_[0]);
  }

 private:
  using Lane = std::conditional_t<std::integral<T>, std::uint64_t, T>;
  T best_;
  std::uint64_t taken_ = 0;  ///< but for whole sixteens
  Lane lanes_[16]{};
};

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
