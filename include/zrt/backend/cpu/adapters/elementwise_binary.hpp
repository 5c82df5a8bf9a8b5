// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/elementwise_binary.hpp: one function of two tensors of the same shape.
#pragma once

#include <zrt/backend/cpu/element_split.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ElementwiseBinary> {
  static Result<void> record(Recorder& r, const HostCall<ops::ElementwiseBinary>& c, const PrimitiveSet& set) noexcept {
    return r.push(c.in[0].type.dtype == DType::f32 ? set.binary : &run_elements<ops::ElementwiseBinary>, c);
  }
};
static_assert(RecordsPrimitive<ops::ElementwiseBinary>);

}  // namespace zrt::inline ZRT_ABI::cpu
