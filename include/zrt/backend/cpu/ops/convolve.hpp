// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/convolve.hpp: products with the patches under a window.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_CONVOLVE)
#define ZRT_BACKEND_CPU_OPS_CONVOLVE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/patch_product.hpp>
#include <zrt/backend/cpu/plane_product.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Convolve> : DotKernels {
  PlaneKernels planes;
};

template <> struct Adapter<ops::Convolve> {
  static constexpr Loops loops = Loops::typed;

  static CheckedSize scratch(const TypeCall<ops::Convolve>& c, const Extents& bounds) noexcept {
    PlaneShape planes;
    return planes.measure(c) ? PlaneProduct::scratch(planes) : PatchProduct::scratch(c, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Convolve>& c, const Kernels<ops::Convolve>& k) noexcept {
    if (PlaneShape planes; planes.measure(c)) return PlaneProduct::record(r, {c, planes, k.planes, k});
    const PatchProduct product{c, &k};
    if (!PatchProduct::stays(c.in[1].type.dtype, c.params.dot.accum_dtype))
      if (auto brought = r.push(&PatchProduct::bring, product); !brought) return brought;
    return r.push(&PatchProduct::multiply, product);
  }
};
static_assert(Records<ops::Convolve>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/convolve.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

template <class L> inline constexpr Kernels<ops::Convolve> kKernels<ops::Convolve, L>{kDotKernels<L>, kPlaneKernels<L>};

#endif
