// SPDX-License-Identifier: Apache-2.0
// zrt/ops/accumulate.hpp: how elements of one type are folded in another one.
#pragma once

#include <zrt/core/accumulator.hpp>
#include <zrt/ops/op.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::ops {

enum class ReduceKind : std::uint8_t { sum, maximum, minimum };
/// As programs name them.
inline constexpr auto kReduceNames = std::to_array<std::string_view>({"sum", "max", "min"});
inline constexpr std::uint8_t kReduceKinds = kReduceNames.size();

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

/// The types of a fold of operand 0: max and min need an order, a sum needs numbers to accumulate in.
template <class D>
[[nodiscard]] constexpr Result<void> check_fold(const RuleCall<D>& c, ReduceKind kind, DType accumulator,
                                                DType result) noexcept {
  const DType dtype = c.in[0].dtype;
  if (is_complex(dtype) && kind != ReduceKind::sum)
    return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
  if (is_boolean(accumulator) && kind == ReduceKind::sum)
    return c.no(Errc::dtype_mismatch, "a sum accumulates in i1, expected a dtype of numbers");
  if (auto r = c.computed(0); !r) return r;
  if (auto r = c.computed(accumulator, "accum_dtype"); !r) return r;
  if (auto r = c.computed(result, "out_dtype"); !r) return r;
  if (!is_castable(dtype, accumulator) || !is_castable(accumulator, result))
    return c.no(Errc::dtype_mismatch, zrt::name(dtype), " is accumulated in ", zrt::name(accumulator), " and given as ",
                zrt::name(result), ", expected no cast from complex to real");
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
