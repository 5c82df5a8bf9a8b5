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

/// The running mean and variance are constants to the gradient.
inline void batch_norm(GradientCall& c) noexcept {
  if (c.has_cotangent(1) || c.has_cotangent(2)) return c.unimplemented("for the running mean and variance");
  const std::array<Tensor, 5> in{c.cotangent(), c.in(0), c.in(1), c.in(3), c.in(4)};
  const std::array<ptir::Attribute, 2> attributes{c.attributes()[0], c.attributes()[1]};
  const std::array<ptir::TensorType, 3> types{c.in_type(0), c.in_type(1), c.in_type(2)};
  Vector<Tensor> given(c.builder().allocator());
  c.graft().mode_step("batch_norm_gradient", in, attributes, types, given);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (c.wants(i)) c.give(i, given[i]);
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient::rules
