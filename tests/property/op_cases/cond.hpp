// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/cond.hpp: random cases of cond.
#pragma once

#include <zrt/ops/cond.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Cond> {
  using Op = zrt::ops::Cond;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = any_shape(r, r.between(1, 20));
    const std::uint32_t args = r.between(1, 3);
    Typed<Op> c;
    c.in.push_back({true, {DType::i1, {}}, {static_cast<std::byte>(r.between(0, 1))}});
    for (std::uint32_t i = 0; i < args; ++i) c.in.push_back(f32(r, b, shape));
    for (Region& region : c.regions) {
      const auto kind = r.one_of({zrt::ops::UnaryKind::neg, zrt::ops::UnaryKind::abs, zrt::ops::UnaryKind::exp});
      region = [shape, args, kind](zrt::ir::Builder& g) {
        for (std::uint32_t i = 0; i < args; ++i) {
          const auto x = g.input(zrt::Name::of("x", i), {DType::f32, shape});
          g.output(zrt::Name::of("y", i), g.emit<zrt::ops::ElementwiseUnary>({.in = {x}, .params = {kind}})[0]);
        }
      };
    }
    return c;
  }
};

}  // namespace op_cases
