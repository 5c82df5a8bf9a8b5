// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/ssm_scan.hpp: random cases of ssm_scan.
#pragma once

#include <zrt/ops/ssm_scan.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::SsmScan> {
  using Op = zrt::ops::SsmScan;

  static zrt::ops::SsmScanParams params(Random& r, bool by_channel, std::uint32_t first, std::uint32_t after) {
    zrt::ops::SsmScanParams p;
    p.groups = r.between(1, 2);
    p.heads = p.groups * r.between(1, 2);
    p.head_dim = r.one_of({16u, 64u, 128u, r.between(1, 90)});
    p.states = r.between(1, 20);
    p.by_channel = by_channel ? 1 : 0;
    p.state = {first, first + p.heads * p.head_dim * p.states + after};
    return p;
  }
  static std::uint32_t tables(const zrt::ops::SsmScanParams& p) { return p.by_channel != 0 ? p.channels() : p.heads; }
  /// The rates, below 0, the skip and the bias of dt.
  static std::array<Stored, 3> weights(Random& r, const zrt::ops::SsmScanParams& p) {
    const std::uint32_t rows = tables(p);
    std::array<Stored, 3> w{vector(r, rows * (p.by_channel != 0 ? p.states : 1), -2.0f, -0.1f), vector(r, rows),
                            maybe(r, vector(r, rows))};
    if (p.by_channel != 0)
      w[0].shape = Shape{rows, p.states};
    else if (r.chance())
      w[0].shape = w[1].shape = Shape{rows, 1};
    return w;
  }

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    c.params = params(r, r.chance(), r.between(0, 5), r.between(0, 5));
    const auto& p = c.params;
    const std::uint32_t shared = 2 * p.groups * p.states;
    const bool apart = r.chance();
    c.in[0] = f32(r, b, Shape{kRows, p.channels() + (apart ? 0 : shared)});
    c.in[1] = f32(r, b, Shape{kRows, tables(p)});
    if (apart) c.in[2] = f32(r, b, Shape{kRows, shared});
    c.w = weights(r, p);
    c.state = zrt::recurrent_block(p.state.total);
    return c;
  }
};

}  // namespace op_cases
