// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/dot_general.hpp: contraction of two tensors.
#pragma once

#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::DotGeneral> {
  static Result<void> record(Recorder& r, const HostCall<ops::DotGeneral>& c, const PrimitiveSet& set) noexcept {
    const ops::DotGeneralParams& p = c.params;
    const bool f32 = c.in[0].type.dtype == DType::f32 && p.accum_dtype == DType::f32 && p.out_dtype == DType::f32;
    return r.push(f32 ? set.dot_general : &loops, c);
  }

 private:
  /// Any types, and any axes.
  static void loops(const HostCall<ops::DotGeneral>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Range part = split(c.out[0].elements(step), 64, worker);
    ops::DotGeneral::compute(c, step, part.first, part.last);
  }
};
static_assert(RecordsPrimitive<ops::DotGeneral>);

}  // namespace zrt::inline ZRT_ABI::cpu
