// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/elementwise_binary.hpp: random cases of elementwise_binary.
#pragma once

#include <zrt/ops/elementwise_binary.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ElementwiseBinary> {
  using Op = zrt::ops::ElementwiseBinary;
  static Typed<Op> make(Random& r, const Batch& b) {
    const Shape shape = any_shape(r, r.between(0, 150));
    Typed<Op> c;
    c.params = {static_cast<zrt::ops::BinaryKind>(r.between(0, zrt::ops::kBinaryKinds - 1))};
    DType dtype = computed_type(r);
    if (c.params.kind == zrt::ops::BinaryKind::pow)
      dtype = r.one_of({DType::fp8_e4m3, DType::bf16, DType::f16, DType::f32});
    else if (dtype == DType::i1)
      c.params.kind = zrt::ops::BinaryKind::mul;
    c.in = {plain(r, b, shape, dtype), plain(r, b, shape, dtype)};
    return c;
  }
};

}  // namespace op_cases
