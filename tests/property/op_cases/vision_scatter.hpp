// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/vision_scatter.hpp: random cases of vision_scatter.
#pragma once

#include <zrt/ops/vision_scatter.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::VisionScatter> {
  using Op = zrt::ops::VisionScatter;
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t images = r.between(1, 9), columns = r.between(1, 60);
    Typed<Op> c;
    c.params.first = r.chance() ? 0 : r.between(0, columns - 1);
    c.params.width = r.between(1, columns - c.params.first);
    c.in = {f32(r, b, Shape{images, columns}), si32(r, b, Shape{kRows}, 0, images - 1)};
    return c;
  }
};

}  // namespace op_cases
