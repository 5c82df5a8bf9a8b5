// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/rms_norm_fused_qkv.hpp: random cases of rms_norm_fused_qkv.
#pragma once

#include <zrt/ops/rms_norm_fused_qkv.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::RmsNormFusedQkv> {
  using Op = zrt::ops::RmsNormFusedQkv;
  // That of rms_norm in every term of a sum of at most 288, which may cancel; the errors of terms are
  // independent, so the sum's is near that of one term.
  static constexpr Tolerance tolerance{0, 2e-6};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    Typed<Op> c;
    c.params.norm = {1e-5f, r.one_of({0.0f, 1.0f}), cols};
    c.in[0] = f32(r, b, Shape{kRows, cols});
    c.w[0] = vector(r, cols);
    for (std::size_t i = 0; i < 3; ++i) {
      const std::uint32_t rows = r.between(1, 40);
      c.w[1 + i] = matrix(r, rows, cols);
      c.w[4 + i] = maybe(r, vector(r, rows));
    }
    return c;
  }
};

}  // namespace op_cases
