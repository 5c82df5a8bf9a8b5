// SPDX-License-Identifier: Apache-2.0
// zrt/ops/accumulate.hpp: how elements of one type are folded in another one.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ops/op.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::ops {

enum class ReduceKind : std::uint8_t { sum, maximum, minimum };
inline constexpr std::uint8_t kReduceKinds = 3;

/// Bytes of an element of a computed type in its domain.
[[nodiscard]] constexpr std::uint64_t domain_bytes(DType dtype) noexcept {
  return domain_of(dtype) == Domain::f32 ? sizeof(float) : sizeof(double);
}

/// a + b; integers wrap.
template <DomainValue T> [[nodiscard]] constexpr T plus(T a, T b) noexcept {
  if constexpr (std::floating_point<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// What a fold of no elements gives: 0, or the end of the range of `accumulator` that no element passes.
template <DomainValue T> [[nodiscard]] constexpr T identity(ReduceKind kind, DType accumulator) noexcept {
  if (kind == ReduceKind::sum) return T{};
  const ElementFunctions<T>& type = element_functions<T>(accumulator);
  return kind == ReduceKind::maximum ? type.lowest : type.highest;
}

/// `accumulated` and one element more. maximum and minimum ignore NaN.
template <DomainValue T> [[nodiscard]] constexpr T fold(ReduceKind kind, T accumulated, T x) noexcept {
  if (kind == ReduceKind::sum) return plus(accumulated, x);
  return (kind == ReduceKind::maximum ? x > accumulated : x < accumulated) ? x : accumulated;
}

/// Demands types of a fold: known ones, a sum not in i1, nothing complex.
template <class O>
[[nodiscard]] constexpr Result<void> expect_fold(ReduceKind kind, DType accumulator, DType result) noexcept {
  if (static_cast<std::uint8_t>(kind) >= kReduceKinds) return bad_params<O>("kind is not known");
  for (const DType dtype : {accumulator, result}) {
    if (!is_dtype(static_cast<std::uint8_t>(dtype)) || is_block(dtype))
      return bad_params<O>("accum_dtype or out_dtype is no plain type");
    if (!is_computed(dtype))
      return fail(Errc::unimplemented, O::name, ": ", zrt::name(dtype),
                  " is complex, and complex numbers are not computed");
  }
  if (kind == ReduceKind::sum && accumulator == DType::i1)
    return fail(Errc::dtype_mismatch, O::name, ": a sum accumulates in i1, expected a dtype of numbers");
  return {};
}

/// Calls `f(i, value)` for elements i of a tensor of `count` elements at `src`, each cast to `accumulator`.
template <DomainValue T, class F>
void for_each_cast(DType from, const std::byte* src, std::uint64_t count, DType accumulator, F&& f) noexcept {
  T values[kFoldRun];
  for (std::uint64_t first = 0; first < count; first += kFoldRun) {
    const std::uint64_t run = std::min(count - first, kFoldRun);
    unpack_as(from, src, first, run, accumulator, values);
    for (std::uint64_t i = 0; i < run; ++i) f(first + i, values[i]);
  }
}

/// Rounds `count` values to `accumulator`, once, and casts them to the elements of `dtype` at `dst`.
template <DomainValue T>
void store_accumulated(DType accumulator, const T* values, std::uint64_t count, DType dtype, std::byte* dst) noexcept {
  alignas(16) std::byte rounded[kFoldRun * sizeof(std::uint64_t)];
  for (std::uint64_t first = 0; first < count; first += kFoldRun) {
    const std::uint64_t run = std::min(count - first, kFoldRun);
    element_functions<T>(accumulator).pack(values + first, 0, run, rounded);
    cast_elements(accumulator, rounded, dtype, dst + bytes_of(dtype, first), 0, run);
  }
}

}  // namespace zrt::inline ZRT_ABI::ops
