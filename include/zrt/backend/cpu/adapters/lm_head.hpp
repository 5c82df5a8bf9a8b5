// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/lm_head.hpp: the vocabulary projection with its scale and soft cap.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::LmHead> {
  static constexpr Loops loops = Loops::vector;

  /// Rounded activations, where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<ops::LmHead>& c, const Extents& bounds) noexcept {
    if (c.params.act == quant::Act::none) return 0;
    const Shape& x = c.in[0].type.shape;
    return rounded_bytes(row_count(x, bounds), x.last().extent);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::LmHead>& c) noexcept {
    auto projection = r.projection(c.w[0], {}, c.params.act);
    if (!projection) return pass(projection);
    if (c.params.act != quant::Act::none)
      if (auto rounded = r.push(r.kernels().round_rows, RoundArgs{c.in[0], rounded_forms<ops::LmHead>(c.params)});
          !rounded)
        return rounded;
    return r.push(r.kernels().linear, LinearArgs{c.in[0], c.out[0], *projection, c.params.scale, c.params.soft_cap});
  }
};
static_assert(Records<ops::LmHead>);

}  // namespace zrt::inline ZRT_ABI::cpu
