// SPDX-License-Identifier: Apache-2.0
// zrt/ir/gradient/rules_shape.hpp: gradients of what moves elements without looking at them.
#pragma once

#include <zrt/ir/gradient/axes.hpp>
#include <zrt/ir/gradient/call.hpp>

namespace zrt::inline ZRT_ABI::ir::gradient::rules {

inline void reshape(GradientCall& c) noexcept { c.give(0, gradient::reshape(c.cotangent(), c.in_type(0).shape)); }

inline void transpose(GradientCall& c) noexcept {
  const auto perm = c.words(ptir::field_index("transpose", "perm"));
  Numbers back = Numbers::all(perm.size(), 0);
  for (std::size_t i = 0; i < perm.size(); ++i)
    back[static_cast<std::size_t>(c.from_first(perm[i], static_cast<std::int64_t>(perm.size())))] =
        static_cast<std::int64_t>(i);
  c.give(0, gradient::transpose(c.cotangent(), back));
}

inline void broadcast_to(GradientCall& c) noexcept { c.give(0, unbroadcast(c.cotangent(), c.in_type(0).shape)); }

inline void slice(GradientCall& c) noexcept {
  const Shape whole = c.in_type(0).shape, part = c.out_type().shape;
  const auto starts = c.words(ptir::field_index("slice", "starts"));
  Numbers low, high;
  for (std::size_t axis = 0; axis < whole.size(); ++axis) {
    low.append(starts[axis]);
    high.append(extent(whole, axis) - starts[axis] - extent(part, axis));
  }
  c.give(0, gradient::pad(c.cotangent(), low, high, Numbers::all(whole.size(), 0), 0));
}

inline void concat(GradientCall& c) noexcept {
  const Tensor g = c.cotangent();
  const auto axis = static_cast<std::size_t>(c.from_first(c.integer(ptir::field_index("concat", "axis")), g.rank()));
  Numbers starts = Numbers::all(g.shape().size(), 0);
  for (std::size_t i = 0; i < c.inputs(); ++i) {
    const Shape part = c.in_type(i).shape;
    if (c.wants(i)) c.give(i, gradient::slice(g, starts, part));
    starts[axis] += extent(part, axis);
  }
}

inline void pad(GradientCall& c) noexcept {
  const ptir::TensorType type = c.in_type(0);
  const auto low = c.words(ptir::field_index("pad", "low")), interior = c.words(ptir::field_index("pad", "interior"));
  Numbers starts, steps;
  Shape spread;
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    const bool one = type.shape[axis].is_constant(1);  // and no hole to step over
    starts.append(low[axis]);
    steps.append(one ? 1 : interior[axis] + 1);
    spread.append(ptir::Dim((extent(type.shape, axis) - 1) * steps[axis] + 1));
  }
  c.give(0, every(gradient::slice(c.cotangent(), starts, spread), steps));
}

inline void tile(GradientCall& c) noexcept {
  const ptir::TensorType type = c.in_type(0);
  const auto repeats = c.words(ptir::field_index("tile", "repeats"));
  Tensor g = c.cotangent();
  Shape shape = g.shape();
  Numbers second;
  second.append(1);
  for (std::size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] == 1) continue;
    const std::int64_t outer = product(shape, 0, axis), inner = product(shape, axis + 1, shape.size());
    shape.dims[axis] = type.shape[axis];
    g = sum(c.builder().reshape(g, {outer, repeats[axis], extent(shape, axis) * inner}), second, false);
  }
  c.give(0, gradient::reshape(g, type.shape));
}

}  // namespace zrt::inline ZRT_ABI::ir::gradient::rules
