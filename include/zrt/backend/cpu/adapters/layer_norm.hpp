// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/layer_norm.hpp: mean and variance of an axis taken out, then scale and shift.
#pragma once

#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::LayerNorm> {
  static Result<void> record(Recorder& r, const HostCall<ops::LayerNorm>& c, const PrimitiveSet& set) noexcept {
    const TensorType& x = c.in[0].type;
    const bool rows = x.dtype == DType::f32 && c.params.feature_axis + 1u == x.shape.rank;
    return r.push(rows ? set.layer_norm : &loops, c);
  }

 private:
  /// Any types, and any axes.
  static void loops(const HostCall<ops::LayerNorm>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Range part = split(ops::LayerNorm::lines(c, step), 1, worker);
    ops::LayerNorm::compute(c, step, part.first, part.last);
  }
};
static_assert(RecordsPrimitive<ops::LayerNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu
