// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/lora_add.hpp: random cases of lora_add.
#pragma once

#include <zrt/ops/lora_add.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::LoraAdd> {
  using Op = zrt::ops::LoraAdd;

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    const std::uint32_t outputs = r.between(1, 200);
    const std::uint32_t adapters = r.between(1, 3);
    const std::uint32_t rank = r.one_of({1u, 4u, 8u, 16u, 17u, 64u});
    Typed<Op> c;
    c.in = {f32(r, b, Shape{kRows, cols}), f32(r, b, Shape{kRows, outputs}), chosen(r, b, adapters)};
    c.w = {pool(r, adapters, rank, cols), pool(r, adapters, outputs, rank)};
    return c;
  }
  /// An adapter for each row, often the one of the row before, or none.
  static Value chosen(Random& r, const Batch& b, std::uint32_t adapters) {
    std::vector<std::int32_t> ids(b.tokens());
    for (std::size_t t = 0; t < ids.size(); ++t)
      ids[t] = t > 0 && r.chance() ? ids[t - 1] : static_cast<std::int32_t>(r.between(0, adapters)) - 1;
    return {true, {DType::si32, Shape{kRows}}, bytes_of(ids)};
  }
  static Stored pool(Random& r, std::uint32_t adapters, std::uint32_t rows, std::uint32_t cols) {
    Stored w = matrix(r, DType::f32, adapters * rows, cols);
    w.shape = Shape{adapters, rows, cols};
    return w;
  }
};

}  // namespace op_cases
