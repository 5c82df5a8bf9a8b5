// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/reduce.hpp: sum, maximum or minimum over any axes.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_REDUCE)
#define ZRT_BACKEND_CPU_OPS_REDUCE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/largest.hpp>
#include <zrt/backend/cpu/kernels/sums.hpp>
#include <zrt/backend/cpu/typed_reduce.hpp>
#include <zrt/ops/reduce.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Reduce> {
  exec::HostKernel<HostCall<ops::Reduce>> rows = nullptr;
};

template <> struct Adapter<ops::Reduce> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Reduce>& c, const Kernels<ops::Reduce>& k) noexcept {
    const ops::ReduceParams& p = c.params;
    const bool f32 = c.in[0].type.dtype == DType::f32 && p.accum_dtype == DType::f32 && p.out_dtype == DType::f32;
    // The folded axes are the last ones: axes with a stop after the last that stays.
    const unsigned all = (1u << c.in[0].type.shape.rank) - 1u;
    const unsigned stay = all & ~unsigned{p.axes};
    const bool last = p.axes != 0 && (stay & (stay + 1u)) == 0;
    return r.push(f32 && last ? k.rows : &typed_reduce, c);
  }
};
static_assert(Records<ops::Reduce>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/reduce.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// The first of the largest elements, or with `sign` -1 of the smallest; NaN left out.
[[nodiscard]] inline float extreme_of(const float* x, std::uint64_t n, float sign) noexcept {
  const float none = -std::numeric_limits<float>::infinity();
  const F32 by = splat(sign);
  F32 best = splat(none);
  for (std::uint64_t i = 0; i < n; i += 16) {
    const std::size_t count = n - i < 16 ? static_cast<std::size_t>(n - i) : 16;
    const F32 v = count == 16 ? load(x + i) : select(first_lanes(count), load_first(x + i, count), by * splat(none));
    best = max(by * v, best);
  }
  const F32 top = splat(largest_lane(best));
  for (std::uint64_t i = 0; i < n; i += 16) {
    const std::size_t count = n - i < 16 ? static_cast<std::size_t>(n - i) : 16;
    const F32 v = count == 16 ? load(x + i) : load_first(x + i, count);
    const std::uint32_t found = lane_bits(both(equal(by * v, top), first_lanes(count)));
    if (found != 0) return x[i + static_cast<std::uint32_t>(std::countr_zero(found))];
  }
  return sign * none;
}

/// Rows of the last axes that are folded; rows are split.
template <class Call> void reduce_rows(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t rows = c.out[0].elements(step);
  // Folded axes of extent 0 leave rows of nothing.
  const std::uint64_t cols = rows == 0 ? 0 : c.in[0].elements(step) / rows;
  const Range part = split(rows, 16, worker);
  float* y = c.out[0].template as<float>();
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    const float* x = c.in[0].template as<float>() + row * cols;
    if (c.params.kind == ops::ReduceKind::sum)
      y[row] = sum_of(x, cols, [](F32 v) ZRT_UNROLLED { return v; });
    else
      y[row] = extreme_of(x, cols, c.params.kind == ops::ReduceKind::maximum ? 1.0f : -1.0f);
  }
}

template <class L>
inline constexpr Kernels<ops::Reduce> kKernels<ops::Reduce, L>{.rows = &reduce_rows<HostCall<ops::Reduce>>};

#endif
