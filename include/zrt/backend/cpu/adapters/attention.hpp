// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/attention.hpp: attention of plain tensors of queries, keys and values.
#pragma once

#include <zrt/backend/cpu/plain.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Attention> {
  /// None where heads fit the kernel.
  static constexpr CheckedSize scratch(const TypeCall<ops::Attention>& c, const Extents& bounds) noexcept {
    return fits(c.in[0].type.shape, c.in[2].type.shape) ? CheckedSize(0) : plain_scratch<ops::Attention>(c, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Attention>& c, const PrimitiveSet& set) noexcept {
    const bool small = fits(c.in[0].type.shape, c.in[2].type.shape);
    return r.push(small ? set.attention : &run_plain<ops::Attention>, c);
  }

 private:
  static constexpr bool fits(const Shape& q, const Shape& v) noexcept {
    return q.last().extent <= kAttentionDim && v.last().extent <= kAttentionDim;
  }
};
static_assert(RecordsPrimitive<ops::Attention>);

}  // namespace zrt::inline ZRT_ABI::cpu
