// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/norm.hpp: root-mean-square norm of one run.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_NORM)
#define ZRT_BACKEND_CPU_KERNELS_NORM

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/ops/rms_norm.hpp>

#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Normalises one run; y may be x.
ZRT_NOINLINE inline void norm_run(const ops::RmsNormParams& p, const float* x, const float* weight, float* y) noexcept {
  F32 sum = splat(0.0f);
  std::uint32_t i = 0;
  for (; i + 16 <= p.dim; i += 16) {
    const F32 v = load(x + i);
    sum = fma(v, v, sum);
  }
  if (i < p.dim) {
    const F32 v = load_first(x + i, p.dim - i);
    sum = fma(v, v, sum);
  }
  const float mean = reduce_tree(sum) / static_cast<float>(p.dim);
  const F32 scale = splat(1.0f) / sqrt(splat(mean + p.eps));
  if (weight == nullptr) {
    map(x, y, 0, p.dim, [&](F32 v) ZRT_UNROLLED { return v * scale; });
  } else {
    const F32 offset = splat(p.weight_offset);
    map(x, weight, y, 0, p.dim, [&](F32 v, F32 w) ZRT_UNROLLED { return (v * scale) * (w + offset); });
  }
}

#endif
