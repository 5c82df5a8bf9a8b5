// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/convolve.hpp: products with the patches under a window.
#pragma once

#include <zrt/backend/cpu/patch_product.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Convolve> {
  static constexpr Loops loops = Loops::typed;

  static CheckedSize scratch(const TypeCall<ops::Convolve>& c, const Extents& bounds) noexcept {
    return PatchProduct::scratch(c, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Convolve>& c, const PrimitiveSet& set) noexcept {
    const PatchProduct product{c, &set};
    if (!PatchProduct::stays(c.in[1].type.dtype, c.params.dot.accum_dtype))
      if (auto brought = r.push(&PatchProduct::bring, product); !brought) return brought;
    return r.push(&PatchProduct::multiply, product);
  }
};
static_assert(RecordsPrimitive<ops::Convolve>);

}  // namespace zrt::inline ZRT_ABI::cpu
