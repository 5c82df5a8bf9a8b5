// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/rules_mode.hpp: gradients of the steps that heed the mode, as steps that heed it too.
#pragma once

#include <zrt/ir/gradient/axes.hpp>
#include <zrt/ir/gradient/call.hpp>

namespace zrt::inline ZRT_ABI::ir::gradient::rules {

/// Drops the same elements of the cotangent: a dropout on the stream of the first.
inline void dropout(GradientCall& c) noexcept {
  const std::array<ptir::Attribute, 3> attributes{c.attributes()[0], c.attributes()[1],
                                                  fused::dropout_stream(c.step(), c.attributes()[2])};
  const Tensor g = c.cotangent();
  Vector<Tensor> given(c.builder().allocator());
  c.graft().mode_step("dropout", {&g, 1}, attributes, {&g.type(), 1}, given);
  if (given.size() == 1) c.give(0, given[0]);
}

/// What came back for y goes to every operand, what came back for the next mean and variance to x and to those.
inline void batch_norm(GradientCall& c) noexcept {
  Vector<Tensor> given(c.builder().allocator());
  if (c.has_cotangent(0)) {
    const std::array<Tensor, 5> in{c.cotangent(), c.in(0), c.in(1), c.in(3), c.in(4)};
    const std::array<ptir::Attribute, 2> attributes{c.attributes()[0], c.attributes()[1]};
    const std::array<ptir::TensorType, 5> types{c.in_type(0), c.in_type(1), c.in_type(2), c.in_type(3), c.in_type(4)};
    c.graft().mode_step("batch_norm_gradient", in, attributes, types, given);
  }
  Vector<Tensor> moved(c.builder().allocator());
  if (c.has_cotangent(1) || c.has_cotangent(2)) {
    const std::array<Tensor, 3> in{c.in(0), c.cotangent(1), c.cotangent(2)};
    const std::array<ptir::Attribute, 2> attributes{c.attributes()[0], c.attributes()[2]};
    const std::array<ptir::TensorType, 3> types{c.in_type(0), c.in_type(3), c.in_type(4)};
    c.graft().mode_step("batch_norm_statistics_gradient", in, attributes, types, moved);
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (c.wants(i)) c.give(i, given[i]);
  constexpr std::array<std::size_t, 3> kMoved{0, 3, 4};
  for (std::size_t i = 0; i < moved.size(); ++i)
    if (const std::size_t to = kMoved[i]; c.wants(to)) c.give(to, given.empty() ? moved[i] : given[to] + moved[i]);
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient::rules
