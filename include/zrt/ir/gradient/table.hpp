// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/table.hpp: every operation with its gradient rule, or with the reason why it has none.
#pragma once

#include <zrt/ir/gradient/rules_elementwise.hpp>
#include <zrt/ir/gradient/rules_fold.hpp>
#include <zrt/ir/gradient/rules_index.hpp>
#include <zrt/ir/gradient/rules_mode.hpp>
#include <zrt/ir/gradient/rules_region.hpp>
#include <zrt/ir/gradient/rules_shape.hpp>
#include <zrt/ir/gradient/rules_window.hpp>

namespace zrt::inline ZRT_ABI::ir::gradient {

/// Every operation of the portable tensor IR in the order of its numbers, and then every op of kModeOps.
inline constexpr auto kGradientRules = [] {
  using enum Passage;
  return std::to_array<GradientRule>({
      {"constant", stops},
      {"elementwise_unary", rule, &rules::elementwise_unary},
      {"elementwise_binary", rule, &rules::elementwise_binary},
      {"compare", stops},
      {"select", rule, &rules::select},
      {"cast", rule, &rules::cast},
      {"stop_gradient", stops},
      {"reduce", rule, &rules::reduce},
      {"arg_max", stops},
      {"dot_general", rule, &rules::dot_general},
      {"reshape", rule, &rules::reshape},
      {"transpose", rule, &rules::transpose},
      {"broadcast_to", rule, &rules::broadcast_to},
      {"slice", rule, &rules::slice},
      {"concat", rule, &rules::concat},
      {"pad", rule, &rules::pad},
      {"tile", rule, &rules::tile},
      {"iota", stops},
      {"take", rule, &rules::take},
      {"gather", rule, &rules::gather},
      {"scatter_add", rule, &rules::scatter_add},
      {"scatter_reduce", rule, &rules::scatter_reduce},
      {"dynamic_slice", rule, &rules::dynamic_slice},
      {"dynamic_update_slice", rule, &rules::dynamic_update_slice},
      {"layer_norm", rule, &rules::layer_norm},
      {"clamp", rule, &rules::clamp},
      {"cond", rule, &rules::cond},
      {"while_loop", unimplemented, nullptr,
       "only the run knows its trips; a scan has as many as its operands have rows"},
      {"scan", rule, &rules::scan},
      {"reduce_window", rule, &rules::reduce_window},
      {"extract_patches", rule, &rules::extract_patches},
      {"custom_call", unimplemented, nullptr, "custom targets state none"},
      {"rng_uniform", stops},
      {"rng_normal", stops},
      {"top_k", rule, &rules::top_k},
      {"segment_reduce", rule, &rules::segment_reduce},
      {"quantize", stops},
      {"dequantize", unimplemented},
      {"requantize", stops},
      {"dropout", rule, &rules::dropout},
      {"batch_norm", rule, &rules::batch_norm},
      {"batch_norm_gradient", unimplemented},
      {"batch_norm_statistics_gradient", unimplemented},
  });
}();

namespace detail {
consteval bool every_op_has_its_gradient() {
  if (kGradientRules.size() != ptir::kOps.size() + fused::kModeOps.size()) return false;
  for (std::size_t i = 0; i < kGradientRules.size(); ++i) {
    const bool mode = i >= ptir::kOps.size();
    if (kGradientRules[i].op != (mode ? fused::kModeOps[i - ptir::kOps.size()].info.name : ptir::kOps[i].name))
      return false;
    if ((kGradientRules[i].passage == Passage::rule) != (kGradientRules[i].apply != nullptr)) return false;
  }
  return true;
}
static_assert(every_op_has_its_gradient(), "gradient rules stand in the order of the operations");
}  // namespace detail

/// The row of an op by its name; that of a name that is none is null.
[[nodiscard]] constexpr const GradientRule* find_gradient(std::string_view op) noexcept {
  for (const GradientRule& row : kGradientRules)
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient
