// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/lm_head_logits.hpp: random cases of lm_head_logits.
#pragma once

#include <zrt/ops/lm_head_logits.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::LmHeadLogits> {
  using Op = zrt::ops::LmHeadLogits;
  // That of rms_norm in every term of a sum of at most 288, as in rms_norm_fused_qkv.
  static constexpr Tolerance tolerance{0, 2e-6};

  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t cols = any_width(r);
    Typed<Op> c;
    c.params = {1e-5f, r.one_of({0.0f, 1.0f}), r.one_of({1.0f, 0.0625f}), r.one_of({0.0f, 30.0f})};
    c.in[0] = f32(r, b, Shape{kRows, cols});
    c.w = {vector(r, cols), matrix(r, r.between(1, 90), cols)};
    return c;
  }
};

}  // namespace op_cases
