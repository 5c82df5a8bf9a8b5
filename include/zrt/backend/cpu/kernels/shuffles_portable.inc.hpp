// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/shuffles_portable.inc.hpp: textual fragment: lane movements that the kernels need beyond simd/, in plain C++, and their meaning.

/// Lane 2i and 2i+1 get lane 2i.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 even_twice(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i & ~std::size_t{1}]; });
}
/// Lane 2i and 2i+1 get lane 2i+1.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 odd_twice(F32 a) noexcept {
  return from_lanes<F32>([&](std::size_t i) { return a.lane[i | 1]; });
}
/// Stores 16 integers within -128..127 as bytes.
ZRT_ALWAYS_INLINE void store_i8(std::int8_t* p, I32 a) noexcept {
  for (std::size_t i = 0; i < 16; ++i) p[i] = static_cast<std::int8_t>(a.lane[i]);
}
