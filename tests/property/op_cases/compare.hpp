// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/compare.hpp: random cases of compare.
#pragma once

#include <zrt/ops/compare.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Compare> {
  using Op = zrt::ops::Compare;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = any_shape(r, r.between(0, 150));
    const DType dtype = computed_type(r);
    Typed<Op> c;
    c.params = {static_cast<zrt::ops::CompareKind>(r.between(0, zrt::ops::kCompareKinds - 1))};
    c.in = {plain(r, b, shape, dtype), plain(r, b, shape, dtype)};
    return c;
  }
};

}  // namespace op_cases
