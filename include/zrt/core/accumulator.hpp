// SPDX-License-Identifier: Apache-2.0
// zrt/core/accumulator.hpp: the type that a fold accumulates in: elements brought to it, and results out of it.
#pragma once

#include <zrt/core/cast.hpp>

namespace zrt::inline ZRT_ABI {

/// The type in which sums of `dtype` are kept unless told otherwise: f32 for the floats below it.
[[nodiscard]] constexpr DType default_accumulator(DType dtype) noexcept {
  return is_float(dtype) && info(dtype).block_bytes < 4 ? DType::f32 : dtype;
}

/// Elements that are brought to an accumulator at a time; even, so that a run of 4-bit elements begins at a byte.
inline constexpr std::uint64_t kFoldRun = detail::kCastRun;

/// Reads elements [first, first + count) of `data`, cast from `dtype` to `as`, whose domain is T; count <= kFoldRun.
template <DomainValue T>
void unpack_as(DType dtype, const std::byte* data, std::uint64_t first, std::uint64_t count, DType as,
               T* out) noexcept {
  if (dtype == as) return element_functions<T>(as).unpack(data, first, count, out);
  // From an even element on, where a 4-bit type has a byte of its own.
  const std::uint64_t odd = first % 2;
  std::byte elements[(kFoldRun + 1) * sizeof(T)];
  std::memset(elements, 0, bytes_of(as, odd + count));
  cast_elements(dtype, data + bytes_of(dtype, first - odd), as, elements, odd, count);
  element_functions<T>(as).unpack(elements, odd, count, out);
}

/// Rounds `value` to the accumulator type `from` of domain T, casts it to `dtype` and writes element `index` of `data`.
template <DomainValue T>
void pack_from(DType from, T value, DType dtype, std::byte* data, std::uint64_t index) noexcept {
  if (dtype == from) return element_functions<T>(from).pack(&value, index, 1, data);
  const std::uint64_t odd = index % 2;
  std::byte elements[2 * sizeof(T)]{};
  element_functions<T>(from).pack(&value, odd, 1, elements);
  cast_elements(from, elements, dtype, data + bytes_of(dtype, index - odd), odd, 1);
}

}  // namespace zrt::inline ZRT_ABI
