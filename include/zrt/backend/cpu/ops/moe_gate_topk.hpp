// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/moe_gate_topk.hpp: router logits, then the experts of each token and their weights.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_MOE_GATE_TOPK)
#define ZRT_BACKEND_CPU_OPS_MOE_GATE_TOPK

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/backend/cpu/kernels/round.hpp>
#include <zrt/backend/cpu/kernels/softmax_row.hpp>
#include <zrt/ops/moe_gate_topk.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

struct GateTopkArgs {
  HostTensor x{};
  HostTensor ids{};
  HostTensor weights{};
  Projection router{};
  const float* selection_bias = nullptr;
  ops::MoeGateTopkParams params{};
};

template <> struct Kernels<ops::MoeGateTopk> {
  exec::HostKernel<RoundArgs> round = nullptr;
  exec::HostKernel<GateTopkArgs> logits = nullptr, choice = nullptr;
};

template <> struct Adapter<ops::MoeGateTopk> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::MoeGateTopk;

  /// Rounded activations, where the plan rounds, and logits behind them.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize rows = row_count(x, bounds);
    const CheckedSize logits = normed_bytes(rows, c.w[0].shape[0].extent);
    return c.params.act == quant::Act::none ? logits : rounded_bytes(rows, x.last().extent) + logits;
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c, const Kernels<Op>& k) noexcept {
    auto router = r.projection(c.w[0], c.w[1], c.params.act);
    if (!router) return pass(router);
    if (c.params.act != quant::Act::none)
      if (auto rounded = r.push(k.round, RoundArgs{c.in[0], rounded_forms<Op>(c.params)}); !rounded) return rounded;
    const GateTopkArgs args{c.in[0], c.out[0], c.out[1], *router, c.w[2].f32(), c.params};
    if (auto logits = r.push(k.logits, args); !logits) return logits;
    return r.push(k.choice, args);
  }
};
static_assert(Records<ops::MoeGateTopk>);

/// Logits in the scratch, behind the rounded rows.
[[nodiscard]] inline float* router_logits(const GateTopkArgs& a, const Worker& worker, std::uint32_t rows,
                                          std::uint32_t cols) noexcept {
  std::byte* memory = worker.scratch.data();
  if (a.params.act != quant::Act::none) memory += rounded_bytes(rows, cols).raw();
  return reinterpret_cast<float*>(memory);
}

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/moe_gate_topk.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

inline void router_product(const GateTopkArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  RowScratch from;
  if (a.params.act != quant::Act::none) from = rounded_scratch(worker.scratch.data(), rows, cols);
  project_share(a.router, from.activations(a.x.as<float>(), rows, cols), share(a.router.w.rows, rows, worker),
                router_logits(a, worker, rows, cols));
}

/// Writes the first `most` of the numbers 0..n-1 in the order of their scores, those with `open` false left out.
inline void first_of(const float* score, std::uint32_t n, const bool* open, std::uint32_t most,
                     std::uint32_t* order) noexcept {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (!open[i] || (count == most && ops::MoeGateTopk::before(score[order[count - 1]], score[i]))) continue;
    std::uint32_t at = count < most ? count++ : count - 1;
    for (; at > 0 && !ops::MoeGateTopk::before(score[order[at - 1]], score[i]); --at) order[at] = order[at - 1];
    order[at] = i;
  }
}

/// Closes the experts of all groups but the best.
inline void close_groups(const ops::MoeGateTopkParams& p, const float* score, std::uint32_t experts,
                         bool* open) noexcept {
  const std::uint32_t size = experts / p.groups;
  float sums[ops::kMaxExperts];
  for (std::uint32_t g = 0; g < p.groups; ++g) {
    std::uint32_t two[2];
    first_of(score + g * size, size, open, 2, two);
    const std::uint32_t first = two[0] < two[1] ? 0 : 1;
    sums[g] = (0.0f + score[g * size + two[first]]) + score[g * size + two[1 - first]];
  }
  std::uint32_t kept[ops::kMaxExperts];
  first_of(sums, p.groups, open, p.groups_used, kept);
  std::memset(open, 0, experts);
  for (std::uint32_t i = 0; i < p.groups_used; ++i) std::memset(open + kept[i] * size, 1, size);
}

/// Tokens are split.
inline void choose_experts(const GateTopkArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::MoeGateTopkParams& p = a.params;
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t experts = a.router.w.rows;
  float* logits = router_logits(a, worker, rows, a.x.cols(step));
  const Range mine = split(rows, 1, worker);
  for (std::uint64_t t = mine.first; t < mine.last; ++t) {
    float* score = logits + t * experts;
    if (p.gating == ops::Gating::softmax) softmax_row(score, score, experts);
    if (p.gating == ops::Gating::sigmoid) map(score, score, 0, experts, [](F32 x) ZRT_UNROLLED { return sigmoid(x); });
    float biased[ops::kMaxExperts];
    const float* choice = score;
    if (a.selection_bias != nullptr) {
      map(score, a.selection_bias, biased, 0, experts, [](F32 x, F32 bias) ZRT_UNROLLED { return x + bias; });
      choice = biased;
    }
    bool open[ops::kMaxExperts];
    std::memset(open, 1, experts);
    if (p.groups_used != p.groups) close_groups(p, choice, experts, open);
    std::uint32_t order[ops::kMaxExperts];
    first_of(choice, experts, open, p.used, order);
    // In ascending order of ids.
    std::memset(open, 0, experts);
    for (std::uint32_t j = 0; j < p.used; ++j) open[order[j]] = true;
    std::int32_t* ids = a.ids.as<std::int32_t>() + t * p.used;
    float* weights = a.weights.as<float>() + t * p.used;
    std::uint32_t count = 0;
    for (std::uint32_t e = 0; e < experts; ++e)
      if (open[e]) {
        ids[count] = static_cast<std::int32_t>(e);
        weights[count++] = score[e];
      }
    if (p.gating == ops::Gating::softmax_selected) softmax_row(weights, weights, count);
    if (p.normalise != 0) {
      float sum = 0.0f;
      for (std::uint32_t j = 0; j < count; ++j) sum += weights[j];
      const F32 divisor = splat(sum < ops::MoeGateTopk::kSmallestSum ? ops::MoeGateTopk::kSmallestSum : sum);
      map(weights, weights, 0, count, [&](F32 w) ZRT_UNROLLED { return w / divisor; });
    }
    const F32 scale = splat(p.scale);
    map(weights, weights, 0, count, [&](F32 w) ZRT_UNROLLED { return w * scale; });
  }
}

template <class L>
inline constexpr Kernels<ops::MoeGateTopk> kKernels<ops::MoeGateTopk, L>{
    .round = &round_rows, .logits = &router_product, .choice = &choose_experts};

#endif
