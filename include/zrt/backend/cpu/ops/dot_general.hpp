// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/dot_general.hpp: contraction of two tensors.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_DOT_GENERAL)
#define ZRT_BACKEND_CPU_OPS_DOT_GENERAL

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/fixed_shapes.hpp>
#include <zrt/backend/cpu/typed_dot.hpp>
#include <zrt/ops/infer_types.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::DotGeneral> : DotKernels {};

template <> struct Adapter<ops::DotGeneral> {
  static constexpr Loops loops = Loops::typed;

  /// None where the product takes the operands as they lie.
  static CheckedSize scratch(const TypeCall<ops::DotGeneral>& c, const Extents& bounds) noexcept {
    HostCall<ops::DotGeneral> shapes;
    for (std::size_t i = 0; i < 2; ++i) shapes.in[i].type = c.in[i].type;
    shapes.params = c.params;
    OutputTypes<ops::DotGeneral> y;
    if (!infer_types<ops::DotGeneral>(c, y)) return 0;
    shapes.out[0].type = y[0];
    return is_direct(shapes) ? CheckedSize(0) : TypedDot::scratch(c, y[0].shape, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::DotGeneral>& c,
                             const Kernels<ops::DotGeneral>& k) noexcept {
    const TypedDot dot{c, &k};
    if (is_direct(c)) return r.push(&TypedDot::multiply, dot);
    if (auto brought = r.push(&TypedDot::bring, dot); !brought) return brought;
    if (auto multiplied = r.push(&TypedDot::multiply, dot); !multiplied) return multiplied;
    return r.push(&TypedDot::round, dot);
  }

 private:
  static bool is_direct(const HostCall<ops::DotGeneral>& c) noexcept {
    DotShape shape;
    return fixed_shapes(c) ? TypedDot::is_direct(c, ExecutionContext{}, shape) : TypedDot::is_always_direct(c);
  }
};
static_assert(Records<ops::DotGeneral>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/dot_general.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

template <class L> inline constexpr Kernels<ops::DotGeneral> kKernels<ops::DotGeneral, L>{kDotKernels<L>};

#endif
