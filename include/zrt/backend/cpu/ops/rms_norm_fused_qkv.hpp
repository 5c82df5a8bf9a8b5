// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rms_norm_fused_qkv.hpp: norm and rounding, then three projections.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RMS_NORM_FUSED_QKV)
#define ZRT_BACKEND_CPU_OPS_RMS_NORM_FUSED_QKV

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/norm_round.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

struct QkvArgs {
  HostTensor x{};
  std::array<HostTensor, 3> y{};
  std::array<Projection, 3> projections{};
};

template <> struct Kernels<ops::RmsNormFusedQkv> {
  exec::HostKernel<NormRoundArgs> norm_round = nullptr;
  exec::HostKernel<QkvArgs> products = nullptr;
};

template <> struct Adapter<ops::RmsNormFusedQkv> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::RmsNormFusedQkv;

  /// Normed rows, and their rounded form where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize rows = row_count(x, bounds);
    const CheckedSize normed = normed_bytes(rows, x.last().extent);
    return rounded_forms<Op>(c.params).any() ? normed + rounded_bytes(rows, x.last().extent) : normed;
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c, const Kernels<ops::RmsNormFusedQkv>& k) noexcept {
    QkvArgs args{c.in[0], c.out, {}};
    for (std::size_t i = 0; i < 3; ++i) {
      auto projection = r.projection(c.w[1 + i], c.w[4 + i], Op::part(c.params, i).act);
      if (!projection) return pass(projection);
      args.projections[i] = *projection;
    }
    const NormRoundArgs first{c.in[0], c.w[0].f32(), c.params.norm, rounded_forms<Op>(c.params)};
    if (auto normed = r.push(k.norm_round, first); !normed) return normed;
    return r.push(k.products, args);
  }
};
static_assert(Records<ops::RmsNormFusedQkv>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/rms_norm_fused_qkv.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline void qkv(const QkvArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const RowScratch from = normed_scratch(worker.scratch.data(), rows, cols);
  for (std::size_t i = 0; i < 3; ++i)
    project_share(a.projections[i], from.activations(from.normed, rows, cols),
                  share(a.projections[i].w.rows, rows, worker), a.y[i].as<float>());
}

template <>
inline constexpr Kernels<ops::RmsNormFusedQkv> kKernels<ops::RmsNormFusedQkv>{.norm_round = &norm_round_rows,
                                                                              .products = &qkv};

#endif
