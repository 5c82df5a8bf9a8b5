// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/convolve.hpp: convolution by blocks of patches.
#pragma once

#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Convolve> {
  static constexpr Loops loops = Loops::vector;

  /// A block of patches for each of the workers that run at the same time, whatever the extents of x.
  static constexpr CheckedSize scratch(const TypeCall<ops::Convolve>& c, const Extents&) noexcept {
    const Shape& w = c.in[1].type.shape;
    return CheckedSize(w[1].extent) * CheckedSize(w[2].extent) * CheckedSize(kPatchRows) * sizeof(float) *
           CheckedSize(kPatchLanes);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Convolve>& c, const PrimitiveSet& set) noexcept {
    return r.push(set.convolve, c);
  }
};
static_assert(RecordsPrimitive<ops::Convolve>);

}  // namespace zrt::inline ZRT_ABI::cpu
