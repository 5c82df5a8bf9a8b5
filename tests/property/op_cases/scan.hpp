// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/scan.hpp: random cases of scan.
#pragma once

#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/scan.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Scan> {
  using Op = zrt::ops::Scan;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape slice{r.between(1, 9)};
    const zrt::Dim length = r.chance() ? kRows : zrt::Dim(r.between(0, 5));
    Typed<Op> c;
    c.params = {1, 2};
    c.in.push_back(f32(r, b, slice));
    for (int i = 0; i < 2; ++i) c.in.push_back(f32(r, b, Shape{length, slice[0]}));
    c.regions[0] = [slice](zrt::ir::Builder& g) {
      const auto carry = g.input("carry", {DType::f32, slice});
      const auto a = g.input("a", {DType::f32, slice});
      const auto d = g.input("b", {DType::f32, slice});
      const auto next =
          g.emit<zrt::ops::ElementwiseBinary>({.in = {carry, a}, .params = {zrt::ops::BinaryKind::add}})[0];
      const auto most =
          g.emit<zrt::ops::ElementwiseBinary>({.in = {next, d}, .params = {zrt::ops::BinaryKind::maximum}})[0];
      g.output("carry", next);
      g.output("next", next);
      g.output("most", most);
    };
    return c;
  }
};

}  // namespace op_cases
