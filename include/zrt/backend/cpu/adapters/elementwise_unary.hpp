// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/elementwise_unary.hpp: one function applied to every element.
#pragma once

#include <zrt/backend/cpu/element_split.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ElementwiseUnary> {
  static Result<void> record(Recorder& r, const HostCall<ops::ElementwiseUnary>& c, const PrimitiveSet& set) noexcept {
    return r.push(c.in[0].type.dtype == DType::f32 ? set.unary : &run_elements<ops::ElementwiseUnary>, c);
  }
};
static_assert(RecordsPrimitive<ops::ElementwiseUnary>);

}  // namespace zrt::inline ZRT_ABI::cpu
