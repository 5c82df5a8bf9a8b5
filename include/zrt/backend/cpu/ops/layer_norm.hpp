// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/layer_norm.hpp: mean and variance of an axis taken out, then scale and shift.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_LAYER_NORM)
#define ZRT_BACKEND_CPU_OPS_LAYER_NORM

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/layer_norm_run.hpp>
#include <zrt/backend/cpu/typed_layer_norm.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::LayerNorm> {
  exec::HostKernel<HostCall<ops::LayerNorm>> rows = nullptr;
};

template <> struct Adapter<ops::LayerNorm> {
  static constexpr Loops loops = Loops::typed;

  static constexpr CheckedSize scratch(const TypeCall<ops::LayerNorm>& c, const Extents& bounds) noexcept {
    return is_rows(c.in[0].type, c.params) ? CheckedSize(0) : TypedLayerNorm::scratch(c, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::LayerNorm>& c,
                             const Kernels<ops::LayerNorm>& k) noexcept {
    if (is_rows(c.in[0].type, c.params)) return r.push(k.rows, c);
    return r.push(&TypedLayerNorm::run, TypedLayerNorm{c, k.rows});
  }

 private:
  static constexpr bool is_rows(const TensorType& x, const ops::LayerNormParams& p) noexcept {
    return x.dtype == DType::f32 && p.feature_axis + 1u == x.shape.rank;
  }
};
static_assert(Records<ops::LayerNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/layer_norm.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows are split.
template <class Call> void layer_norm_rows(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t cols = ops::AxisSplit(c.in[0], c.params.feature_axis, step).extent;
  if (cols == 0) return;
  const float* gamma = c.in[1].template as<float>();
  const float* beta = c.in[2].template as<float>();
  const Range part = split(c.in[0].elements(step) / cols, 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row)
    layer_norm_run(c.in[0].template as<float>() + row * cols, cols, gamma, beta, narrow_to_f32(c.params.epsilon),
                   c.out[0].template as<float>() + row * cols);
}

template <class L>
inline constexpr Kernels<ops::LayerNorm> kKernels<ops::LayerNorm, L>{.rows =
                                                                         &layer_norm_rows<HostCall<ops::LayerNorm>>};

#endif
