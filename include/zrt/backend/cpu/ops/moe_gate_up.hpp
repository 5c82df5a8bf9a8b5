// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/moe_gate_up.hpp: rows by expert, then both projections of each expert and their gate.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_MOE_GATE_UP)
#define ZRT_BACKEND_CPU_OPS_MOE_GATE_UP

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/kernels/expert_rows.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/ops/moe_gate_up.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

/// `gate` has no function where experts have no gate. An expert's rows are `stride` apart; those of up begin `above`.
struct MoeGateUpArgs {
  ExpertRows rows{};
  HostTensor h{};
  Projection gate{};
  Projection up{};
  std::uint32_t outputs = 0;
  std::uint32_t stride = 0;
  std::uint32_t above = 0;
  Activation act = Activation::silu;
};

template <> struct Kernels<ops::MoeGateUp> {
  exec::HostKernel<ExpertRows> gather = nullptr;
  exec::HostKernel<MoeGateUpArgs> products = nullptr;
};

template <> struct Adapter<ops::MoeGateUp> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::MoeGateUp;

  /// Which pair stands where, and the rows of all pairs in the forms that are read.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    ExpertRows forms;
    add_forms(forms, c.params, c.w[Op::gate].present());
    const Shape& ids = c.in[1].type.shape;
    return expert_scratch_bytes(ids.elements(bounds), c.w[Op::up].shape[0].extent, c.in[0].type.shape.last().extent,
                                forms.plain, forms.forms);
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c, const Kernels<Op>& k) noexcept {
    const ops::MoeGateUpParams& p = c.params;
    MoeGateUpArgs args;
    args.h = c.out[0];
    args.act = p.gated.act;
    args.outputs = args.stride = c.out[0].type.shape.last().extent;
    auto up = r.projection(c.w[Op::up], c.w[Op::up_bias], p.act_up, args.outputs);
    if (!up) return pass(up);
    args.up = *up;
    if (p.fused != 0) {
      args.above = args.outputs;
      args.stride = 2 * args.outputs;
      args.gate = *up;
      args.gate.bias = c.w[Op::gate_bias].f32();
    } else if (c.w[Op::gate].present()) {
      auto gate = r.projection(c.w[Op::gate], c.w[Op::gate_bias], p.act_gate, args.outputs);
      if (!gate) return pass(gate);
      args.gate = *gate;
    }
    args.rows = {c.in[0], c.in[1], args.stride == 0 ? 0 : c.w[Op::up].rows / args.stride};
    add_forms(args.rows, p, c.w[Op::gate].present());
    if (auto gathered = r.push(k.gather, args.rows); !gathered) return gathered;
    return r.push(k.products, args);
  }

 private:
  static constexpr void add_forms(ExpertRows& rows, const ops::MoeGateUpParams& p, bool gate) noexcept {
    if (gate) rows.add(p.act_gate);
    rows.add(p.act_up);
  }
};
static_assert(Records<ops::MoeGateUp>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/moe_gate_up.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Zeros outputs `mine` of the rows whose ids do not count.
inline void clear_uncounted(const MoeGateUpArgs& a, const ExecutionContext& step, const Range& mine) noexcept {
  const std::uint32_t used = a.rows.used(step);
  const std::int32_t* ids = a.rows.ids.as<std::int32_t>();
  for (std::uint64_t t = 0; t < a.rows.tokens(step); ++t) {
    ops::ChosenExperts chosen(a.rows.experts);
    for (std::uint64_t pair = t * used; pair < (t + 1) * used; ++pair)
      if (!chosen.counts(ids[pair]))
        std::memset(a.h.as<float>() + pair * a.outputs + mine.first, 0, (mine.last - mine.first) * sizeof(float));
  }
}

/// Outputs are split; each expert's weights pass once for all of its rows.
inline void moe_gate_up(const MoeGateUpArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range mine = split(a.outputs, 16, worker);
  // Gate and up wait in small tiles while a block of rows passes.
  constexpr std::uint32_t kTileElems = 8192;
  constexpr std::uint32_t kTileRows = 128;
  alignas(64) float gate[kTileElems];
  alignas(64) float up[kTileElems];
  clear_uncounted(a, step, mine);
  each_expert(a.rows, step, worker,
              [&](std::uint32_t expert, const Activations& x, const std::uint32_t* pairs) noexcept {
                const std::uint32_t base = expert * a.stride;
                const std::uint64_t bias = std::uint64_t{expert} * a.outputs;
                for (std::uint32_t t = 0; t < x.rows; t += kTileRows) {
                  const std::uint32_t count = x.rows - t < kTileRows ? x.rows - t : kTileRows;
                  const std::uint32_t width = kTileElems / count / 16 * 16;
                  const Activations part = x.part(t, count);
                  for (std::uint64_t n = mine.first; n < mine.last; n += width) {
                    const auto first = static_cast<std::uint32_t>(n);
                    const auto last = static_cast<std::uint32_t>(mine.last - n < width ? mine.last : n + width);
                    const bool gated = a.gate.present();
                    if (gated) a.gate.multiply(base + first, base + last, part, gate, width);
                    a.up.multiply(base + a.above + first, base + a.above + last, part, up, width);
                    for (std::uint32_t i = 0; i < count; ++i) {
                      float* gate_row = gate + std::uint64_t{i} * width;
                      float* up_row = up + std::uint64_t{i} * width;
                      if (gated && a.gate.bias != nullptr) add_bias(a.gate.bias + bias + first, gate_row, last - first);
                      if (a.up.bias != nullptr) add_bias(a.up.bias + bias + first, up_row, last - first);
                      gate_elements(a.act, gated ? gate_row : up_row, gated ? up_row : nullptr,
                                    a.h.as<float>() + std::uint64_t{pairs[t + i]} * a.outputs + first, 0, last - first);
                    }
                  }
                }
              });
}

template <class L>
inline constexpr Kernels<ops::MoeGateUp> kKernels<ops::MoeGateUp, L>{.gather = &gather_expert_rows,
                                                                     .products = &moe_gate_up};

#endif
