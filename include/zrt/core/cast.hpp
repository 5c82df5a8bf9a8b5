// SPDX-License-Identifier: Apache-2.0
// zrt/core/cast.hpp: conversion between any two computed element types.
#pragma once

#include <zrt/core/scalar.hpp>

#include <algorithm>
#include <cstring>

namespace zrt::inline ZRT_ABI {

namespace detail {

/// What a cast must know of the type that it writes, beyond its domain.
template <DomainValue T> struct CastTarget {
  T lowest;
  T highest;
  bool boolean;
  Rounding rounding;  ///< of what is not exact in the domain: to odd where packing rounds again
};

template <DomainValue T> [[nodiscard]] constexpr CastTarget<T> cast_target(DType to) noexcept {
  const ElementFunctions<T>& type = element_functions<T>(to);
  // f64 holds what comes to it, or rounds it once.
  const bool once = to == DType::f32 || to == DType::f64;
  return {type.lowest, type.highest, to == DType::i1, once ? Rounding::nearest_even : Rounding::to_odd};
}

/// Toward zero, the ends of the range for what lies beyond them, 0 for NaN.
template <std::integral T, std::floating_point F>
[[nodiscard]] constexpr T truncate(F x, const CastTarget<T>& to) noexcept {
  constexpr F kEnd = std::is_signed_v<T> ? F{0x1p63} : F{0x1p64};
  constexpr F kBegin = std::is_signed_v<T> ? -kEnd : F{0};
  if (x != x) return 0;
  if (x < kBegin) return to.lowest;
  if (x >= kEnd) return to.highest;
  return std::clamp(static_cast<T>(x), to.lowest, to.highest);
}

[[nodiscard]] constexpr float to_domain(double x, const CastTarget<float>& to) noexcept {
  return narrow_to_f32(x, to.rounding);
}
[[nodiscard]] constexpr double to_domain(float x, const CastTarget<double>&) noexcept { return x; }
[[nodiscard]] constexpr float to_domain(std::uint64_t x, const CastTarget<float>& to) noexcept {
  return integer_to_f32(x, to.rounding);
}
[[nodiscard]] constexpr double to_domain(std::uint64_t x, const CastTarget<double>&) noexcept {
  return integer_to_f64(x);
}
template <std::floating_point T> [[nodiscard]] constexpr T to_domain(std::int64_t x, const CastTarget<T>& to) noexcept {
  const auto magnitude = static_cast<std::uint64_t>(x);
  return x < 0 ? -to_domain(0 - magnitude, to) : to_domain(magnitude, to);
}
template <std::integral T, DomainValue F> [[nodiscard]] constexpr T to_domain(F x, const CastTarget<T>& to) noexcept {
  if constexpr (std::same_as<T, std::uint64_t>)
    if (to.boolean) return x != 0 ? 1 : 0;
  if constexpr (std::floating_point<F>)
    return truncate(x, to);
  else if (std::in_range<T>(x))
    return std::clamp(static_cast<T>(x), to.lowest, to.highest);
  else
    return x < 0 ? to.lowest : to.highest;
}
template <std::floating_point T> [[nodiscard]] constexpr T to_domain(T x, const CastTarget<T>&) noexcept { return x; }

/// Elements that are converted at a time, between two buffers on the stack.
inline constexpr std::uint64_t kCastRun = 128;

template <DomainValue F, DomainValue T>
void cast_run(DType from, const std::byte* src, DType to, std::byte* dst, std::uint64_t first,
              std::uint64_t count) noexcept {
  const ElementFunctions<F>& source = element_functions<F>(from);
  const ElementFunctions<T>& destination = element_functions<T>(to);
  const CastTarget<T> target = cast_target<T>(to);
  F in[kCastRun];
  T out[kCastRun];
  while (count != 0) {
    const std::uint64_t run = std::min(count, kCastRun);
    source.unpack(src, first, run, in);
    for (std::uint64_t i = 0; i < run; ++i) out[i] = to_domain(in[i], target);
    destination.pack(out, first, run, dst);
    first += run;
    count -= run;
  }
}

}  // namespace detail

/// Converts elements [first, first + count) of the tensor at `src` to the same elements of the one at `dst`.
///
/// Both types are computed ones. The tensors may be the same memory if an element of `to` is no
/// larger than one of `from`; else they are apart. Threads that share a tensor of 4-bit integers
/// divide it at even indices.
///
/// - Float to float rounds once, to nearest, ties to even. Overflow gives infinity; in fp8_e4m3,
///   which has none, a NaN. NaN stays NaN, and a type to itself keeps every bit.
/// - Float to integer truncates toward zero; what lies beyond the range becomes its end, NaN 0.
/// - Integer to float rounds once, to nearest, ties to even, with the overflow of floats.
/// - Integer to integer: what lies beyond the range becomes its end.
/// - To i1: 0 if the element equals zero, else 1, so that a NaN, 0.5 and -1 give 1; it is
///   `x != 0` and not a truncation. From i1: 0 or 1.
///
/// Rounding is done in integers, so that the host's rounding mode has no effect. Where the host has
/// subnormals read as zero, RoundingMode undoes it for the thread.
inline void cast_elements(DType from, const std::byte* src, DType to, std::byte* dst, std::uint64_t first,
                          std::uint64_t count) noexcept {
  if (count == 0) return;
  const DTypeInfo& row = info(from);
  if (from == to && row.kind == DTypeKind::floating) {
    std::memmove(dst + first * row.block_bytes, src + first * row.block_bytes, count * row.block_bytes);
    return;
  }
  visit_domain(from, [&]<class F>(std::type_identity<F>) {
    visit_domain(to, [&]<class T>(std::type_identity<T>) { detail::cast_run<F, T>(from, src, to, dst, first, count); });
  });
}

}  // namespace zrt::inline ZRT_ABI
