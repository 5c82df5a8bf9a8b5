// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/layer_norm.hpp: mean and variance of an axis taken out, then scale and shift.
#pragma once

#include <zrt/backend/cpu/typed_layer_norm.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::LayerNorm> {
  static constexpr Loops loops = Loops::typed;

  static constexpr CheckedSize scratch(const TypeCall<ops::LayerNorm>& c, const Extents& bounds) noexcept {
    return is_rows(c.in[0].type, c.params) ? CheckedSize(0) : TypedLayerNorm::scratch(c, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::LayerNorm>& c, const PrimitiveSet& set) noexcept {
    if (is_rows(c.in[0].type, c.params)) return r.push(set.layer_norm, c);
    return r.push(&TypedLayerNorm::run, TypedLayerNorm{c, &set});
  }

 private:
  static constexpr bool is_rows(const TensorType& x, const ops::LayerNormParams& p) noexcept {
    return x.dtype == DType::f32 && p.feature_axis + 1u == x.shape.rank;
  }
};
static_assert(RecordsPrimitive<ops::LayerNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu
