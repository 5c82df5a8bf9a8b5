// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/projection.hpp: what the ops that multiply rows by weights share: a worker's outputs, bias.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PROJECTION)
#define ZRT_BACKEND_CPU_KERNELS_PROJECTION

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/projection.hpp>
#include <zrt/backend/cpu/split.hpp>

#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// The outputs of one worker: all activation rows by some weight rows, or, where there are fewer
/// sixteens of weight rows than workers, some activation rows by all weight rows.
struct Share {
  Range n;
  Range t;
};
[[nodiscard]] inline Share share(std::uint32_t weight_rows, std::uint32_t rows, const Worker& worker) noexcept {
  if (weight_rows / 16 >= worker.count || rows == 1) return {split(weight_rows, 16, worker), {0, rows}};
  return {{0, weight_rows}, split(rows, 1, worker)};
}

/// Adds a bias to `count` outputs.
ZRT_ALWAYS_INLINE void add_bias(const float* bias, float* y, std::uint64_t count) noexcept {
  map(y, bias, y, 0, count, [](F32 a, F32 b) noexcept { return a + b; });
}

/// y[t][n] of a projection for one worker's share, bias included.
inline void project_share(const Projection& p, const Activations& x, const Share& mine, float* y) noexcept {
  const auto first = static_cast<std::uint32_t>(mine.n.first);
  const auto last = static_cast<std::uint32_t>(mine.n.last);
  const auto rows = static_cast<std::uint32_t>(mine.t.last - mine.t.first);
  if (first == last || rows == 0) return;
  float* out = y + mine.t.first * p.w.rows + first;
  p.multiply(first, last, x.part(static_cast<std::uint32_t>(mine.t.first), rows), out, p.w.rows);
  if (p.bias == nullptr) return;
  for (std::uint32_t t = 0; t < rows; ++t) add_bias(p.bias + first, out + std::uint64_t{t} * p.w.rows, last - first);
}

#endif
