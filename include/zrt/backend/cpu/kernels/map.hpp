// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/map.hpp: a function of each element of vectors, sixteen at a time.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_MAP)
#define ZRT_BACKEND_CPU_KERNELS_MAP

#include <zrt/backend/cpu/simd/variants.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// y[i] = f(a[i]) for i in first..last-1, sixteen at a time; y may be a.
template <class F>
ZRT_ALWAYS_INLINE void map(const float* a, float* y, std::uint64_t first, std::uint64_t last, F&& f) noexcept {
  std::uint64_t i = first;
  for (; i + 16 <= last; i += 16) store(y + i, f(load(a + i)));
  const std::size_t rest = static_cast<std::size_t>(last - i);
  if (rest != 0) store_first(y + i, f(load_first(a + i, rest)), rest);
}
/// y[i] = f(a[i], b[i]) for i in first..last-1; y may be a or b.
template <class F>
ZRT_ALWAYS_INLINE void map(const float* a, const float* b, float* y, std::uint64_t first, std::uint64_t last,
                           F&& f) noexcept {
  std::uint64_t i = first;
  for (; i + 16 <= last; i += 16) store(y + i, f(load(a + i), load(b + i)));
  const std::size_t rest = static_cast<std::size_t>(last - i);
  if (rest != 0) store_first(y + i, f(load_first(a + i, rest), load_first(b + i, rest)), rest);
}

#endif
