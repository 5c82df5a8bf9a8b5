// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rms_norm_fused_mlp_gate_up.hpp: norm and rounding, then both projections and their gate.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RMS_NORM_FUSED_MLP_GATE_UP)
#define ZRT_BACKEND_CPU_OPS_RMS_NORM_FUSED_MLP_GATE_UP

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/kernels/norm_round.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

struct GateUpArgs {
  HostTensor x{};
  HostTensor h{};
  Projection gate{};
  Projection up{};
  Activation act = Activation::silu;
};

template <> struct Kernels<ops::RmsNormFusedMlpGateUp> {
  exec::HostKernel<NormRoundArgs> norm_round = nullptr;
  exec::HostKernel<GateUpArgs> products = nullptr;
};

template <> struct Adapter<ops::RmsNormFusedMlpGateUp> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::RmsNormFusedMlpGateUp;

  /// Normed rows, and their rounded form where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize rows = row_count(x, bounds);
    const CheckedSize normed = normed_bytes(rows, x.last().extent);
    return rounded_forms<Op>(c.params).any() ? normed + rounded_bytes(rows, x.last().extent) : normed;
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c,
                             const Kernels<ops::RmsNormFusedMlpGateUp>& k) noexcept {
    auto gate = r.projection(c.w[1], c.w[3], c.params.act_gate);
    if (!gate) return pass(gate);
    auto up = r.projection(c.w[2], c.w[4], c.params.act_up);
    if (!up) return pass(up);
    const NormRoundArgs first{c.in[0], c.w[0].f32(), c.params.norm, rounded_forms<Op>(c.params)};
    if (auto normed = r.push(k.norm_round, first); !normed) return normed;
    return r.push(k.products, GateUpArgs{c.in[0], c.out[0], *gate, *up, c.params.gated.act});
  }
};
static_assert(Records<ops::RmsNormFusedMlpGateUp>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline void gate_up(const GateUpArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const std::uint32_t outputs = a.gate.w.rows;
  const RowScratch from = normed_scratch(worker.scratch.data(), rows, cols);
  const Activations x = from.activations(from.normed, rows, cols);
  const Share mine = share(outputs, rows, worker);
  // `up` waits in a small tile while `gate` lies where the product goes.
  constexpr std::uint32_t kTileElems = 8192;
  constexpr std::uint32_t kTileRows = 128;
  alignas(64) float up[kTileElems];
  for (std::uint64_t t = mine.t.first; t < mine.t.last; t += kTileRows) {
    const auto count = static_cast<std::uint32_t>(mine.t.last - t < kTileRows ? mine.t.last - t : kTileRows);
    const std::uint32_t width = kTileElems / count / 16 * 16;
    const Activations part = x.part(static_cast<std::uint32_t>(t), count);
    for (std::uint64_t n = mine.n.first; n < mine.n.last; n += width) {
      const auto first = static_cast<std::uint32_t>(n);
      const auto last = static_cast<std::uint32_t>(mine.n.last - n < width ? mine.n.last : n + width);
      float* h = a.h.as<float>() + t * outputs + n;
      a.gate.multiply(first, last, part, h, outputs);
      a.up.multiply(first, last, part, up, width);
      for (std::uint32_t i = 0; i < count; ++i) {
        float* row = h + std::uint64_t{i} * outputs;
        float* up_row = up + std::uint64_t{i} * width;
        if (a.gate.bias != nullptr) add_bias(a.gate.bias + first, row, last - first);
        if (a.up.bias != nullptr) add_bias(a.up.bias + first, up_row, last - first);
        gate_elements(a.act, row, up_row, row, 0, last - first);
      }
    }
  }
}

template <>
inline constexpr Kernels<ops::RmsNormFusedMlpGateUp> kKernels<ops::RmsNormFusedMlpGateUp>{
    .norm_round = &norm_round_rows, .products = &gate_up};

#endif
