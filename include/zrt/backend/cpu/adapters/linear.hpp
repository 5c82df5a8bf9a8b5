// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/linear.hpp: rounding of the activations, then rows times weights.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Linear> {
  static constexpr Loops loops = Loops::vector;

  /// Rounded activations, where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<ops::Linear>& c, const Extents& bounds) noexcept {
    if (c.params.act == quant::Act::none) return 0;
    const Shape& x = c.in[0].type.shape;
    return rounded_bytes(row_count(x, bounds), x.last().extent);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Linear>& c) noexcept {
    auto projection = r.projection(c.w[0], c.w[1], c.params.act);
    if (!projection) return pass(projection);
    if (c.params.act != quant::Act::none)
      if (auto rounded = r.push(r.kernels().round_rows, RoundArgs{c.in[0], rounded_forms<ops::Linear>(c.params)});
          !rounded)
        return rounded;
    return r.push(r.kernels().linear, LinearArgs{c.in[0], c.out[0], *projection});
  }
};
static_assert(Records<ops::Linear>);

}  // namespace zrt::inline ZRT_ABI::cpu
