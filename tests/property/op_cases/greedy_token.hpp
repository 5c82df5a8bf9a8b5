// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/greedy_token.hpp: random cases of greedy_token.
#pragma once

#include <zrt/ops/greedy_token.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::GreedyToken> {
  using Op = zrt::ops::GreedyToken;
  static constexpr Tolerance tolerance{0, 0};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.in[0] = f32(r, b, Shape{kRows, r.between(1, 200)});
    // Ties and NaN.
    auto* logits = reinterpret_cast<float*>(c.in[0].data.data());
    for (std::size_t i = 0; i < c.in[0].data.size() / sizeof(float); ++i)
      logits[i] = r.between(0, 9) == 0 ? __builtin_nanf("") : static_cast<float>(static_cast<int>(logits[i]));
    return c;
  }
  static constexpr bool allows(const Mutation& m) { return m.kind == Mutation::more_axes; }
};

}  // namespace op_cases
