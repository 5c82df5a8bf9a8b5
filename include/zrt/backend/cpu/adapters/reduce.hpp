// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/reduce.hpp: sum, maximum or minimum over any axes.
#pragma once

#include <zrt/backend/cpu/typed_reduce.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Reduce> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Reduce>& c, const PrimitiveSet& set) noexcept {
    const ops::ReduceParams& p = c.params;
    const bool f32 = c.in[0].type.dtype == DType::f32 && p.accum_dtype == DType::f32 && p.out_dtype == DType::f32;
    // The folded axes are the last ones: axes with a stop after the last that stays.
    const unsigned all = (1u << c.in[0].type.shape.rank) - 1u;
    const unsigned stay = all & ~unsigned{p.axes};
    const bool last = p.axes != 0 && (stay & (stay + 1u)) == 0;
    return r.push(f32 && last ? set.reduce : &typed_reduce, c);
  }
};
static_assert(RecordsPrimitive<ops::Reduce>);

}  // namespace zrt::inline ZRT_ABI::cpu
