// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/element_chain.hpp: random cases of element_chain.
#pragma once

#include <zrt/ops/element_chain.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ElementChain> {
  using Op = zrt::ops::ElementChain;
  // Of the activations only those whose primitives round as they do.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    using namespace zrt::ops;
    const Shape shape = r.chance() ? any_shape(r, r.between(1, 100))
                                   : Shape{kRows, r.between(1, 4), r.between(1, 7), r.between(0, 300)};
    Typed<Op> c;
    const std::uint32_t inputs = r.between(1, kChainInputs);
    c.in[0] = f32(r, b, shape);
    for (std::size_t k = 1; k < inputs; ++k) c.in[k] = f32(r, b, r.chance() ? repeated(r, shape) : shape);
    c.params.count = r.between(1, kChainSteps);
    for (std::uint32_t s = 0; s < c.params.count; ++s) {
      const auto operand = [&] {
        const std::uint32_t at = r.between(0, inputs + s - 1);
        return static_cast<std::uint8_t>(at < inputs ? at : kChainInputs + at - inputs);
      };
      ChainStep step{static_cast<ChainFamily>(r.between(0, 2)), 0, operand(), 0};
      step.rhs = step.family == ChainFamily::binary ? operand() : step.lhs;
      step.kind = step.family == ChainFamily::unary ? static_cast<std::uint8_t>(r.between(0, kUnaryKinds - 1))
                  : step.family == ChainFamily::binary
                      ? static_cast<std::uint8_t>(r.between(0, kBinaryKinds - 1))
                      : static_cast<std::uint8_t>(
                            r.one_of({zrt::Activation::none, zrt::Activation::relu2, zrt::Activation::relu}));
      c.params.steps[s] = step.word();
    }
    return c;
  }
  // Another rank of an input is as good where the axes still fit, and one that no step reads may be missing.
  static constexpr bool allows(const Mutation& m) { return m.kind != Mutation::dtype; }

 private:
  /// Some neighbouring axes of `shape`, with extents of 1 or nothing in place of the others.
  static Shape repeated(Random& r, const Shape& shape) {
    const std::uint32_t first = r.between(0, shape.rank);
    const std::uint32_t last = r.between(first, shape.rank);
    Shape some;
    for (std::uint32_t axis = r.chance() ? 0 : first; axis < shape.rank; ++axis)
      some.append(axis >= first && axis < last ? shape[axis] : Dim(1));
    return some;
  }
};

}  // namespace op_cases
