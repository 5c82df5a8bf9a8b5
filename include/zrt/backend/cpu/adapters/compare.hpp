// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/compare.hpp: a truth value for every pair of elements.
#pragma once

#include <zrt/backend/cpu/element_split.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Compare> {
  static Result<void> record(Recorder& r, const HostCall<ops::Compare>& c, const PrimitiveSet& set) noexcept {
    return r.push(c.in[0].type.dtype == DType::f32 ? set.compare : &run_elements<ops::Compare>, c);
  }
};
static_assert(RecordsPrimitive<ops::Compare>);

}  // namespace zrt::inline ZRT_ABI::cpu
