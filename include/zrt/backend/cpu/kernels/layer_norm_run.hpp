// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/layer_norm_run.hpp: layer norm of one run.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_LAYER_NORM_RUN)
#define ZRT_BACKEND_CPU_KERNELS_LAYER_NORM_RUN

#include <zrt/backend/cpu/kernels/sums.hpp>
#include <zrt/core/scalar.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/layer_norm_run.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Normalises `cols` elements, more than 0; without `beta` nothing is added; y may be x.
ZRT_NOINLINE inline void layer_norm_run(const float* x, std::uint64_t cols, const float* gamma, const float* beta,
                                        float epsilon, float* y) noexcept {
  const float features = integer_to_f32(cols);
  const F32 mean = splat(sum_of(x, cols, [](F32 v) ZRT_UNROLLED { return v; }) / features);
  const float squares = sum_of(x, cols, [&](F32 v) ZRT_UNROLLED { return (v - mean) * (v - mean); });
  const F32 scale = splat(1.0f) / sqrt(splat(squares / features + epsilon));
  for (std::uint64_t i = 0; i < cols; i += 16) {
    const auto count = static_cast<std::size_t>(cols - i < 16 ? cols - i : 16);
    const F32 scaled = sealed((load_first(x + i, count) - mean) * scale * load_first(gamma + i, count));
    store_first(y + i, beta == nullptr ? scaled : scaled + load_first(beta + i, count), count);
  }
}

#endif
