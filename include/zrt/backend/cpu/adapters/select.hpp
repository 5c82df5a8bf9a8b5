// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/select.hpp: each element from one of two tensors.
#pragma once

#include <zrt/backend/cpu/element_split.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Select> {
  static Result<void> record(Recorder& r, const HostCall<ops::Select>& c, const PrimitiveSet& set) noexcept {
    return r.push(c.in[1].type.dtype == DType::f32 ? set.select : &run_elements<ops::Select>, c);
  }
};
static_assert(RecordsPrimitive<ops::Select>);

}  // namespace zrt::inline ZRT_ABI::cpu
