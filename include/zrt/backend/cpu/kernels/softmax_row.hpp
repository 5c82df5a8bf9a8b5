// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/softmax_row.hpp: normalised exponentials of one row.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_SOFTMAX_ROW)
#define ZRT_BACKEND_CPU_KERNELS_SOFTMAX_ROW

#include <zrt/backend/cpu/kernels/largest.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/softmax_row.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// y = exp(x - max) / sum(exp(x - max)) of `cols` elements; y may be x.
inline void softmax_row(const float* x, float* y, std::uint32_t cols) noexcept {
  const F32 top = splat(largest_of(x, cols));
  F32 lanes = splat(0.0f);
  std::uint32_t i = 0;
  for (; i + 16 <= cols; i += 16) {
    const F32 e = exp(load(x + i) - top);
    store(y + i, e);
    lanes = lanes + e;
  }
  if (i < cols) {
    const std::size_t rest = cols - i;
    const F32 e = select(first_lanes(rest), exp(load_first(x + i, rest) - top), splat(0.0f));
    store_first(y + i, e, rest);
    lanes = lanes + e;
  }
  const F32 sum = splat(reduce_tree(lanes));
  map(y, y, 0, cols, [&](F32 v) noexcept { return v / sum; });
}

#endif
