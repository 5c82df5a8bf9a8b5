// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/attention.hpp: attention of plain tensors of queries, keys and values.
#pragma once

#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Attention> {
  static constexpr Loops loops = Loops::vector;

  /// For heads that do not fit the stack: a query and two sums of values of sixteen queries, per worker.
  static constexpr CheckedSize scratch(const TypeCall<ops::Attention>& c, const Extents&) noexcept {
    const CheckedSize values = c.in[2].type.shape.last().extent;
    const CheckedSize dims = CheckedSize(c.in[0].type.shape.last().extent) + values + values;
    if (dims.ok() && dims.raw() <= 3 * kAttentionDim) return 0;
    return dims * CheckedSize(16 * sizeof(float)) * CheckedSize(kAttentionLanes) + CheckedSize(64);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Attention>& c, const PrimitiveSet& set) noexcept {
    return r.push(set.attention, c);
  }
};
static_assert(RecordsPrimitive<ops::Attention>);

}  // namespace zrt::inline ZRT_ABI::cpu
