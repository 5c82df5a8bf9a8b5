// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/dot_general.hpp: random cases of dot_general.
#pragma once

#include <zrt/ops/dot_general.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::DotGeneral> {
  using Op = zrt::ops::DotGeneral;
  // Up to two axes of each sort, in any order in either operand.
  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    std::array<std::vector<Dim>, 2> dims;
    std::array<std::vector<std::uint32_t>, 2> sorts;  // 0, 1: batch; 2, 3: contracted; 4: free
    auto add = [&](std::size_t side, Dim dim, std::uint32_t sort) {
      const auto at = r.between(0, static_cast<std::uint32_t>(dims[side].size()));
      dims[side].insert(dims[side].begin() + at, dim);
      sorts[side].insert(sorts[side].begin() + at, sort);
    };
    c.params.batch_count = r.between(0, 2);
    c.params.contract_count = r.between(0, 2);
    for (std::uint32_t i = 0; i < c.params.batch_count + c.params.contract_count; ++i) {
      const bool batch = i < c.params.batch_count;
      const Dim dim = batch && r.chance() ? kRows : Dim(batch ? r.between(0, 3) : r.between(0, 40));
      for (std::size_t side = 0; side < 2; ++side) add(side, dim, batch ? i : i - c.params.batch_count + 2);
    }
    add(0, kRows, 4);
    if (r.chance()) add(1, r.between(1, 9), 4);
    Shape shape[2];
    for (std::size_t side = 0; side < 2; ++side)
      for (std::size_t axis = 0; axis < dims[side].size(); ++axis) {
        shape[side] = shape[side].appended(dims[side][axis]);
        const std::uint32_t sort = sorts[side][axis];
        auto& batch = side == 0 ? c.params.batch_lhs : c.params.batch_rhs;
        auto& contract = side == 0 ? c.params.contract_lhs : c.params.contract_rhs;
        if (sort < 4) (sort < 2 ? batch : contract)[sort % 2] = static_cast<std::uint8_t>(axis);
      }
    DType dtype = r.chance() ? DType::f32 : computed_type(r);
    c.params.accum_dtype = r.between(0, 3) != 0 ? zrt::default_accumulator(dtype) : computed_type(r);
    if (c.params.accum_dtype == DType::i1) c.params.accum_dtype = DType::ui16;
    c.params.out_dtype = r.between(0, 3) != 0 ? dtype : computed_type(r);
    if (c.params.accum_dtype == DType::f32 && c.params.out_dtype == DType::f32 && r.chance())
      c.params.alpha = r.real(-2.0f, 2.0f);
    c.in = {plain(r, b, shape[0], dtype), plain(r, b, shape[1], dtype)};
    return c;
  }
  // One more axis is one more free axis; no axes are fine where none are named.
  static constexpr bool allows(const Mutation& m) {
    return m.kind == Mutation::more_axes || m.kind == Mutation::no_axes;
  }
};

}  // namespace op_cases
