// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/scatter_add.hpp: random cases of scatter_add.
#pragma once

#include <zrt/ops/scatter_add.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ScatterAdd> {
  using Op = zrt::ops::ScatterAdd;
  static Typed<Op> make(Random& r, const Batch& b) {
    const DType dtype = number_type(r);
    const std::uint32_t rows = r.between(1, 9);
    const std::uint32_t cols = r.between(1, 9);
    const std::uint32_t depth = r.between(1, 4);
    const std::uint32_t window = r.between(1, cols);
    // Windows of one row, all of the middle axis and some columns, at a row and maybe a column.
    const bool vectors = r.chance();
    Typed<Op> c;
    c.in[0] = plain(r, b, Shape{rows, depth, cols}, dtype);
    if (vectors) {
      std::vector<std::int32_t> places;
      for (std::uint32_t row = 0; row < b.tokens(); ++row) {
        places.push_back(static_cast<std::int32_t>(r.between(0, cols - window)));
        places.push_back(static_cast<std::int32_t>(r.between(0, rows - 1)));
      }
      c.in[1] = {true, {DType::si32, Shape{kRows, 2}}, bytes_of(places)};
      c.params.scatter_dims_to_operand_dims = {2, 0};
      c.params.scatter_dims_count = 2;
    } else {
      c.in[1] = indices(r, b, Shape{kRows}, rows);
      c.params.scatter_dims_count = 1;
    }
    c.params.index_vector_dim = 1;
    c.params.inserted_window_count = 1;
    const bool first = r.chance();
    c.params.update_window_dims = {static_cast<std::uint8_t>(first ? 0 : 1), static_cast<std::uint8_t>(first ? 1 : 2)};
    c.params.update_window_count = 2;
    c.in[2] = plain(r, b, first ? Shape{depth, window, kRows} : Shape{kRows, depth, window}, dtype);
    return c;
  }
};

}  // namespace op_cases
