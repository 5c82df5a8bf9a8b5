// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/vision_patch_embed.hpp: random cases of vision_patch_embed.
#pragma once

#include <zrt/ops/vision_patch_embed.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::VisionPatchEmbed> {
  using Op = zrt::ops::VisionPatchEmbed;
  // That of two projections.
  static constexpr Tolerance tolerance{0, 4e-6};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t elements = any_width(r), width = r.between(1, 40);
    Typed<Op> c;
    c.in = {f32(r, b, Shape{kRows, elements}), f32(r, b, Shape{kRows, width})};
    c.w = {matrix(r, width, elements), maybe(r, matrix(r, width, elements)), maybe(r, vector(r, width))};
    return c;
  }
};

}  // namespace op_cases
