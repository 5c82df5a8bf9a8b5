// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/pipeline.hpp: the passes in their order, run until nothing changes.
#pragma once

#include <zrt/ir/passes/call_elementary.hpp>
#include <zrt/ir/passes/common_subexpressions.hpp>
#include <zrt/ir/passes/constant_folding.hpp>
#include <zrt/ir/passes/dead_code.hpp>
#include <zrt/ir/passes/drop_identities.hpp>
#include <zrt/ir/passes/fuse_attention.hpp>
#include <zrt/ir/passes/fuse_bias_act.hpp>
#include <zrt/ir/passes/fuse_convolve.hpp>
#include <zrt/ir/passes/fuse_elements.hpp>
#include <zrt/ir/passes/fuse_gated_act.hpp>
#include <zrt/ir/passes/fuse_linear.hpp>
#include <zrt/ir/passes/fuse_norm.hpp>
#include <zrt/ir/passes/fuse_rope.hpp>
#include <zrt/ir/passes/fuse_softmax.hpp>
#include <zrt/ir/passes/matmul_absorption.hpp>
#include <zrt/ir/passes/scale_absorption.hpp>
#include <zrt/ir/passes/split_linear.hpp>

#include <string_view>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir {

struct NamedPass {
  std::string_view name;
  Pass run;
};

/// The passes in the order that they run in. Identities go first, since no pattern has them; absorption goes before folding, which would write out the
/// transposes that it takes in; layer_norm before rms_norm, which its second half looks like; attention
/// after softmax, which it contains; linear before bias_act, which takes the biases that linear left, and before
/// split_linear, which splits its biases too.
inline constexpr auto kPasses = std::to_array<NamedPass>({
    {"drop_identities", &drop_identities},
    {"call_elementary", &call_elementary},
    {"absorb_into_matmul", &absorb_into_matmul},
    {"fold_constants", &fold_constants},
    {"fuse_layer_norm", &fuse_layer_norm},
    {"fuse_rms_norm", &fuse_rms_norm},
    {"fuse_softmax", &fuse_softmax},
    {"fuse_attention", &fuse_attention},
    {"absorb_causal_mask", &absorb_causal_mask},
    {"fuse_gated_act", &fuse_gated_act},
    {"fuse_convolve", &fuse_convolve},
    {"fuse_linear", &fuse_linear},
    {"split_linear", &split_linear},
    {"fuse_bias_act", &fuse_bias_act},
    {"absorb_scale", &absorb_scale},
    {"absorb_alpha", &absorb_alpha},
    {"fuse_rope", &fuse_rope},
    {"merge_common_subexpressions", &merge_common_subexpressions},
    {"drop_dead_code", &drop_dead_code},
});

/// The passes that run once behind the others: no pattern knows what they make.
inline constexpr auto kLastPasses = std::to_array<NamedPass>({
    {"fuse_elements", &fuse_elements},
    {"drop_dead_code", &drop_dead_code},
});

/// Rounds of all passes at most.
inline constexpr int kMaxPassRounds = 16;

/// Runs the passes over a graph and its regions, round after round until one changes nothing, at most
/// kMaxPassRounds, then the last ones once; true when anything changed. The graph is verified before, and stays so.
///
/// Errors: Errc::out_of_memory and size_overflow.
[[nodiscard]] inline Result<bool> optimise(Graph& g, const PassContext& context, Span<const NamedPass> passes = kPasses,
                                           Span<const NamedPass> last = kLastPasses) noexcept {
  if (context.budget == nullptr) {
    FoldingBudget budget = FoldingBudget::of(g.constants.size());
    PassContext all = context;
    all.budget = &budget;
    return optimise(g, all, passes, last);
  }
  bool changed = false;
  for (Graph& region : g.regions) {
    const auto done = optimise(region, context, passes, last);
    if (!done) return pass(done);
    changed = changed || *done;
  }
  for (int round = 0; round < kMaxPassRounds; ++round) {
    bool again = false;
    for (const NamedPass& each : passes) {
      const auto done = each.run(g, context);
      if (!done) return pass(done);
      again = again || *done;
    }
    if (!again) break;
    changed = true;
  }
  for (const NamedPass& each : last) {
    const auto done = each.run(g, context);
    if (!done) return pass(done);
    changed = changed || *done;
  }
  return changed;
}

}  // namespace zrt::inline ZRT_ABI::ir

ZRT_LOAD_TIME_END
