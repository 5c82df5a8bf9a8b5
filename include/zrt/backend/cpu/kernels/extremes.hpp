// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/extremes.hpp: the larger and the smaller of two elements, where NaN wins.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_EXTREMES)
#define ZRT_BACKEND_CPU_KERNELS_EXTREMES

#include <zrt/backend/cpu/simd/variants.hpp>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/extremes.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// NaN where either is NaN, a where they are equal.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 maximum(F32 a, F32 b) noexcept {
  return select(either(less(a, b), is_nan(b)), b, a);
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 minimum(F32 a, F32 b) noexcept {
  return select(either(less(b, a), is_nan(b)), b, a);
}

#endif
