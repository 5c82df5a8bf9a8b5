// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/extract_patches.hpp: random cases of extract_patches.
#pragma once

#include <zrt/ops/extract_patches.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::ExtractPatches> {
  using Op = zrt::ops::ExtractPatches;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t spatial = r.between(1, 3);
    Typed<Op> c;
    Shape shape{r.chance() ? kRows : Dim(r.between(0, 3))};
    c.params.spatial = spatial;
    for (std::uint32_t i = 0; i < spatial; ++i) {
      shape = shape.appended(r.between(0, 6));
      c.params.window[i] = r.between(1, 3);
      c.params.strides[i] = r.between(1, 3);
      c.params.pad_low[i] = r.between(0, 2);
      c.params.pad_high[i] = r.between(0, 2);
      c.params.dilation[i] = r.between(1, 3);
    }
    for (std::uint8_t& byte : c.params.pad_value) byte = static_cast<std::uint8_t>(r.between(0, 1));
    c.in[0] = plain(r, b, shape.appended(r.between(0, 4)));
    return c;
  }
  // Elements are only moved.
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::dtype; }
};

}  // namespace op_cases
