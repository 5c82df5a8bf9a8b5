// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/mamba_mixer.hpp: random cases of mamba_mixer.
#pragma once

#include <zrt/ops/mamba_mixer.hpp>

#include <property/op_cases/ssm_conv1d.hpp>
#include <property/op_cases/ssm_scan.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::MambaMixer> {
  using Op = zrt::ops::MambaMixer;

  static constexpr Tolerance tolerance{0, 1e-3};

  static Typed<Op> make(Random& r, const Batch& b) {
    Typed<Op> c;
    const bool first_form = r.chance();
    const std::uint32_t width = any_width(r);
    zrt::ops::SsmScanParams scan = OpCases<zrt::ops::SsmScan>::params(r, first_form, 0, 0);
    const std::uint32_t shared = 2 * scan.groups * scan.states;
    const std::uint32_t channels = scan.channels() + (first_form ? 0 : shared);
    const std::uint32_t low = any_width(r);
    c.in[0] = f32(r, b, Shape{kRows, width});
    c.w[Op::norm] = maybe(r, vector(r, width));
    c.w[Op::x] = matrix(r, channels, width);
    c.w[Op::z] = matrix(r, scan.channels(), width);
    c.w[Op::conv] = OpCases<zrt::ops::SsmConv1d>::taps(r, channels);
    c.w[Op::conv_bias] = maybe(r, vector(r, channels));
    if (first_form) {
      c.w[Op::low] = matrix(r, low, channels);
      c.w[Op::bc] = matrix(r, shared, channels);
    } else {
      c.w[Op::gated_norm] = vector(r, scan.channels());
      c.w[Op::gated_norm].shape = Shape{scan.heads, scan.head_dim};
      c.params.gated.dim = scan.head_dim;
    }
    c.w[Op::dt] = matrix(r, OpCases<zrt::ops::SsmScan>::tables(scan), first_form ? low : width);
    const auto tables = OpCases<zrt::ops::SsmScan>::weights(r, scan);
    c.w[Op::a] = tables[0];
    c.w[Op::d] = tables[1];
    c.w[Op::dt_bias] = tables[2];
    c.w[Op::output] = matrix(r, width, scan.channels());
    c.params.conv = OpCases<zrt::ops::SsmConv1d>::params(r, c.w[Op::conv], 0, 0);
    const std::uint32_t tail = c.params.conv.state.total;
    scan.state.first = tail;
    scan.state.total = c.params.conv.state.total = tail + scan.state.total;
    c.params.scan = scan;
    c.state = zrt::recurrent_block(scan.state.total);
    return c;
  }
};

}  // namespace op_cases
