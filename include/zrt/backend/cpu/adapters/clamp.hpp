// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/clamp.hpp: every element held between two bounds.
#pragma once

#include <zrt/backend/cpu/element_split.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Clamp> {
  static Result<void> record(Recorder& r, const HostCall<ops::Clamp>& c, const PrimitiveSet& set) noexcept {
    return r.push(c.in[0].type.dtype == DType::f32 ? set.clamp : &run_elements<ops::Clamp>, c);
  }
};
static_assert(RecordsPrimitive<ops::Clamp>);

}  // namespace zrt::inline ZRT_ABI::cpu
