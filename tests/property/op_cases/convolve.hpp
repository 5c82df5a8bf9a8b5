// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/convolve.hpp: random cases of convolve.
#pragma once

#include <zrt/ops/convolve.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Convolve> {
  using Op = zrt::ops::Convolve;
  // The same operations in the same order.
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t spatial = r.between(1, 2);
    Typed<Op> c;
    Shape shape{r.chance() ? kRows : Dim(r.between(0, 3))};
    auto& p = c.params.patches;
    p.spatial = spatial;
    std::uint32_t elements = 1;
    for (std::uint32_t i = 0; i < spatial; ++i) {
      shape = shape.appended(r.between(0, 7));
      elements *= p.window[i] = r.between(1, 3);
      p.strides[i] = r.between(1, 3);
      p.pad_low[i] = r.between(0, 2);
      p.pad_high[i] = r.between(0, 2);
      p.dilation[i] = r.between(1, 3);
    }
    const float padding = r.chance() ? 0.0f : r.real(-1.0f, 1.0f);
    std::memcpy(p.pad_value.data(), &padding, sizeof padding);
    c.params.groups = r.between(1, 3);
    const std::uint32_t channels = r.between(1, 9);
    c.in[0] = f32(r, b, shape.appended(channels * c.params.groups));
    c.in[1] = f32(r, b, Shape{c.params.groups * r.between(1, 7), elements, channels});
    return c;
  }
  static constexpr bool allows(const Mutation&) { return false; }
};

}  // namespace op_cases
