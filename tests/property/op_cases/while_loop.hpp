// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/while_loop.hpp: random cases of while_loop.
#pragma once

#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/while_loop.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::WhileLoop> {
  using Op = zrt::ops::WhileLoop;
  /// `steps` of truth values ahead, shifted by one each trip, so that the loop ends.
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = any_shape(r, r.between(1, 20));
    const std::uint32_t trips = r.between(0, 4);
    Typed<Op> c;
    for (std::uint32_t i = 0; i < 5; ++i) c.in.push_back({true, {DType::i1, {}}, {std::byte{i < trips}}});
    c.in.push_back(f32(r, b, shape));
    c.regions[0] = [shape](zrt::ir::Builder& g) {
      zrt::ir::ValueId first{};
      for (unsigned i = 0; i < 5; ++i) {
        const auto truth = g.input(zrt::Name::of("t", i), {DType::i1, {}});
        if (i == 0) g.output("more", first = truth);
        g.output(zrt::Name::of("t", i), truth);
      }
      g.output("x", g.input("x", {DType::f32, shape}));
    };
    c.regions[1] = [shape](zrt::ir::Builder& g) {
      std::array<zrt::ir::ValueId, 5> truth;
      for (unsigned i = 0; i < 5; ++i) truth[i] = g.input(zrt::Name::of("t", i), {DType::i1, {}});
      const auto x = g.input("x", {DType::f32, shape});
      for (unsigned i = 0; i < 5; ++i) g.output(zrt::Name::of("t", i), truth[i < 4 ? i + 1 : 4]);
      g.output("x", g.emit<zrt::ops::ElementwiseBinary>({.in = {x, x}, .params = {zrt::ops::BinaryKind::add}})[0]);
    };
    return c;
  }
};

}  // namespace op_cases
