// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/lm_head.hpp: the vocabulary projection with its scale and soft cap.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_LM_HEAD)
#define ZRT_BACKEND_CPU_OPS_LM_HEAD

#include <zrt/backend/cpu/ops/linear.hpp>
#include <zrt/ops/lm_head.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::LmHead> {
  exec::HostKernel<RoundArgs> round = nullptr;
  exec::HostKernel<LinearArgs> product = nullptr;
};

template <> struct Adapter<ops::LmHead> {
  static constexpr Loops loops = Loops::vector;

  /// Rounded activations, where the plan rounds.
  static constexpr CheckedSize scratch(const TypeCall<ops::LmHead>& c, const Extents& bounds) noexcept {
    if (c.params.act == quant::Act::none) return 0;
    const Shape& x = c.in[0].type.shape;
    return rounded_bytes(row_count(x, bounds), x.last().extent);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::LmHead>& c, const Kernels<ops::LmHead>& k) noexcept {
    auto projection = r.projection(c.w[0], {}, c.params.act);
    if (!projection) return pass(projection);
    if (c.params.act != quant::Act::none)
      if (auto rounded = r.push(k.round, RoundArgs{c.in[0], rounded_forms<ops::LmHead>(c.params)}); !rounded)
        return rounded;
    return r.push(k.product, LinearArgs{c.in[0], c.out[0], *projection, c.params.scale, c.params.soft_cap});
  }
};
static_assert(Records<ops::LmHead>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/lm_head.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

template <> inline constexpr Kernels<ops::LmHead> kKernels<ops::LmHead>{.round = &round_rows, .product = &linear};

#endif
