// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/rms_norm_fused_qkv.hpp: norm and rounding, then three projections.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::RmsNormFusedQkv> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::RmsNormFusedQkv;

  /// Normed rows, and their rounded form where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize rows = row_count(x, bounds);
    const CheckedSize normed = normed_bytes(rows, x.last().extent);
    return rounded_forms<Op>(c.params).any() ? normed + rounded_bytes(rows, x.last().extent) : normed;
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c) noexcept {
    QkvArgs args{c.in[0], c.out, {}};
    for (std::size_t i = 0; i < 3; ++i) {
      auto projection = r.projection(c.w[1 + i], c.w[4 + i], Op::part(c.params, i).act);
      if (!projection) return pass(projection);
      args.projections[i] = *projection;
    }
    const NormRoundArgs first{c.in[0], c.w[0].f32(), c.params.norm, rounded_forms<Op>(c.params)};
    if (auto normed = r.push(r.kernels().norm_round_rows, first); !normed) return normed;
    return r.push(r.kernels().qkv, args);
  }
};
static_assert(Records<ops::RmsNormFusedQkv>);

}  // namespace zrt::inline ZRT_ABI::cpu
