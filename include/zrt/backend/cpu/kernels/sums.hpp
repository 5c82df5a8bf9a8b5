// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/sums.hpp: sums of a row in the order dot16.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_SUMS)
#define ZRT_BACKEND_CPU_KERNELS_SUMS

#include <zrt/backend/cpu/simd/variants.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/sums.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// The sum of f(x[i]) in the order dot16 with ones.
template <class F> [[nodiscard]] ZRT_ALWAYS_INLINE float sum_of(const float* x, std::uint64_t n, F&& f) noexcept {
  F32 lanes = splat(0.0f);
  std::uint64_t i = 0;
  for (; i + 16 <= n; i += 16) lanes = lanes + sealed(f(load(x + i)));
  const auto rest = static_cast<std::size_t>(n - i);
  if (rest != 0) lanes = lanes + select(first_lanes(rest), sealed(f(load_first(x + i, rest))), splat(0.0f));
  return reduce_tree(lanes);
}

#endif
