// SPDX-License-Identifier: Apache-2.0
// zrt/ops/moe_gate_topk.hpp: the router of a mixture of experts: which experts a token takes, with which weights.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/ops/experts.hpp>
#include <zrt/ops/projection.hpp>
#include <zrt/ops/reduce.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// How an expert's score follows from its logit. The numbers stand in parameter blocks and never change.
enum class Gating : std::uint8_t {
  softmax = 0,           ///< over all experts
  sigmoid = 1,           ///< of each logit
  softmax_selected = 2,  ///< experts are chosen by logits; over the chosen ones
};
inline constexpr std::uint8_t kGatings = 3;

struct MoeGateTopkParams {
  std::uint32_t used = 1;         ///< experts of a token
  std::uint32_t groups = 1;       ///< the experts form so many groups of equal size
  std::uint32_t groups_used = 1;  ///< groups that experts are chosen from
  float scale = 1.0f;             ///< of the weights
  Gating gating = Gating::softmax;
  std::uint8_t normalise = 0;         ///< 1: a token's weights are divided by their sum
  quant::Act act = quant::Act::none;  ///< rounding of x, set by the plan compiler
  std::uint8_t reserved = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&MoeGateTopkParams::used, "used"}, Member{&MoeGateTopkParams::groups, "groups"},
                 Member{&MoeGateTopkParams::groups_used, "groups_used"}, Member{&MoeGateTopkParams::scale, "scale"},
                 Member{&MoeGateTopkParams::gating, "gating"}, Member{&MoeGateTopkParams::normalise, "normalise"},
                 Member{&MoeGateTopkParams::act, "act"}, Member{&MoeGateTopkParams::reserved, "reserved"});
};

/// Chooses `used` experts for each row of x f32 [T, d] -> ids si32 [T, used], ascending, and weights f32 [T, used].
///
/// Logits are router x + router_bias, scores follow by `gating`. Experts are chosen by score + selection_bias, larger
/// ones first, then smaller ids; NaN comes last. Of several groups, those whose two best sum to most are kept first, with
/// the same ties. The weights are the scores, divided by their sum if `normalise` says so, times `scale`.
/// Sums: logits as linear's; a softmax's by dot16 with ones; that of the weights by chain from +0 in ascending id.
struct MoeGateTopk {
  using Params = MoeGateTopkParams;
  static constexpr Opcode opcode{39};
  static constexpr std::string_view name = "moe_gate_topk";
  static constexpr Rung rung = Rung::fused;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"ids"}, Role{"weights"}});
  static constexpr auto weight_roles =
      std::to_array({Role{"router"}, Role{"router_bias", true}, Role{"selection_bias", true}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto act_fields = std::to_array({ActField<Params>{0, &Params::act}});

  /// The smallest sum that weights are divided by, as llama.cpp has it: sigmoids of a token may all be near 0.
  static constexpr float kSmallestSum = 0x1p-14f;

  static constexpr Result<void> infer(const TypeCall<MoeGateTopk>& c, OutputTypes<MoeGateTopk>& out) noexcept {
    const Params& p = c.params;
    if (auto r = expect_rows<MoeGateTopk>(c.in[0], "x"); !r) return r;
    const Shape& x = c.in[0].type.shape;
    if (x[1].extent == 0) return bad_shape<MoeGateTopk>("x", "columns", x);
    if (auto r = expect_matrix<MoeGateTopk>(c.w[0], "router", x[1].extent); !r) return r;
    if (c.w[0].shape[0].symbol != 0 || c.w[0].shape[0].extent > kMaxExperts)
      return bad_shape<MoeGateTopk>("router", "1..1024 rows", c.w[0].shape);
    const std::uint32_t experts = c.w[0].shape[0].extent;
    if (auto r = expect_vector<MoeGateTopk>(c.w[1], "router_bias", experts, false); !r) return r;
    if (auto r = expect_vector<MoeGateTopk>(c.w[2], "selection_bias", experts, false); !r) return r;
    if (!act_fits(c.w[0].dtype, p.act)) return bad_params<MoeGateTopk>("act does not fit the router's type");
    if (static_cast<std::uint8_t>(p.gating) >= kGatings) return bad_params<MoeGateTopk>("gating is not known");
    if (p.groups == 0 || p.groups_used == 0 || p.groups_used > p.groups || experts % p.groups != 0)
      return bad_params<MoeGateTopk>("groups must divide the experts, and groups_used be 1..groups");
    if (p.groups_used < p.groups && experts / p.groups < 2)
      return bad_params<MoeGateTopk>("groups that are chosen from have two experts or more");
    if (p.used == 0 || p.used > experts / p.groups * p.groups_used)
      return bad_params<MoeGateTopk>(
          "used must be 1 or more, and no more than the experts of the groups that are kept");
    out[0] = {DType::si32, Shape{x[0], p.used}};
    out[1] = {DType::f32, Shape{x[0], p.used}};
    return {};
  }

  /// True when a score comes before another one, whose id is larger.
  [[nodiscard]] static constexpr bool before(float a, float b) noexcept { return a >= b || b != b; }

  static constexpr CheckedSize reference_scratch(const TypeCall<MoeGateTopk>& c, const Extents&) noexcept {
    return CheckedSize(sizeof(Scores)) + projection_scratch(c.in[0].type.shape.last().extent);
  }

  static void reference(const HostCall<MoeGateTopk>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const std::uint32_t cols = c.in[0].cols(step);
    const std::uint32_t experts = c.w[0].rows;
    Scores& s = *reinterpret_cast<Scores*>(worker.scratch.data());
    const auto scratch = worker.scratch.subspan(sizeof(Scores));
    for (std::uint32_t t = 0; t < c.in[0].rows(step); ++t) {
      const ActivationRow x = round_row(c.in[0].as<float>() + std::uint64_t{t} * cols, cols, c.params.act, scratch);
      for (std::uint32_t e = 0; e < experts; ++e) s.score[e] = biased(project(c.w[0], e, x, scratch), c.w[1], e);
      if (c.params.gating == Gating::softmax) softmax(s.score, experts);
      if (c.params.gating == Gating::sigmoid)
        for (std::uint32_t e = 0; e < experts; ++e) s.score[e] = math::sigmoid(s.score[e]);
      for (std::uint32_t e = 0; e < experts; ++e) s.choice[e] = biased(s.score[e], c.w[2], e);
      keep_groups(c.params, experts, s);
      choose(s.choice, experts, c.params.used, s.open, s.chosen);
      const std::uint64_t first = std::uint64_t{t} * c.params.used;
      weigh(c.params, experts, s, c.out[0].as<std::int32_t>() + first, c.out[1].as<float>() + first);
    }
  }

 private:
  struct Scores {
    float score[kMaxExperts];
    float choice[kMaxExperts];  ///< what experts are chosen by
    bool open[kMaxExperts];     ///< in a group that is kept
    bool chosen[kMaxExperts];
  };

  static void softmax(float* x, std::uint32_t n) noexcept {
    const float top = Reduce::fold(ReduceKind::maximum, x, n);
    for (std::uint32_t i = 0; i < n; ++i) x[i] = math::exp(x[i] - top);
    const float sum = Reduce::fold(ReduceKind::sum, x, n);
    for (std::uint32_t i = 0; i < n; ++i) x[i] /= sum;
  }

  /// Marks the `count` best of the open ones.
  static void choose(const float* choice, std::uint32_t n, std::uint32_t count, const bool* open,
                     bool* chosen) noexcept {
    for (std::uint32_t i = 0; i < n; ++i) chosen[i] = false;
    for (; count > 0; --count) {
      std::uint32_t best = n;
      for (std::uint32_t i = 0; i < n; ++i)
        if (open[i] && !chosen[i] && (best == n || !before(choice[best], choice[i]))) best = i;
      chosen[best] = true;
    }
  }

  static void keep_groups(const Params& p, std::uint32_t experts, Scores& s) noexcept {
    for (std::uint32_t e = 0; e < experts; ++e) s.open[e] = true;
    if (p.groups_used == p.groups) return;
    const std::uint32_t size = experts / p.groups;
    float sums[kMaxExperts];
    bool kept[kMaxExperts];
    for (std::uint32_t g = 0; g < p.groups; ++g) {
      choose(s.choice + g * size, size, 2, s.open, s.chosen);
      sums[g] = 0.0f;
      for (std::uint32_t i = 0; i < size; ++i)
        if (s.chosen[i]) sums[g] += s.choice[g * size + i];
    }
    choose(sums, p.groups, p.groups_used, s.open, kept);
    for (std::uint32_t e = 0; e < experts; ++e) s.open[e] = kept[e / size];
  }

  static void weigh(const Params& p, std::uint32_t experts, const Scores& s, std::int32_t* ids,
                    float* weights) noexcept {
    std::uint32_t count = 0;
    for (std::uint32_t e = 0; e < experts; ++e)
      if (s.chosen[e]) {
        ids[count] = static_cast<std::int32_t>(e);
        weights[count++] = s.score[e];
      }
    if (p.gating == Gating::softmax_selected) softmax(weights, count);
    if (p.normalise != 0) {
      float sum = 0.0f;
      for (std::uint32_t i = 0; i < count; ++i) sum += weights[i];
      if (sum < kSmallestSum) sum = kSmallestSum;
      for (std::uint32_t i = 0; i < count; ++i) weights[i] /= sum;
    }
    for (std::uint32_t i = 0; i < count; ++i) weights[i] *= p.scale;
  }
};
static_assert(Op<MoeGateTopk> && HasReference<MoeGateTopk>);

}  // namespace zrt::inline ZRT_ABI::ops
