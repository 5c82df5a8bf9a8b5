// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/elementwise_binary.hpp: one function applied to pairs of elements.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_ELEMENTWISE_BINARY)
#define ZRT_BACKEND_CPU_OPS_ELEMENTWISE_BINARY

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/elements.hpp>
#include <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/typed_elements.hpp>
#include <zrt/ops/elementwise_binary.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::ElementwiseBinary> : ElementKernels<ops::ElementwiseBinary> {};

template <> struct Adapter<ops::ElementwiseBinary> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::ElementwiseBinary>& c,
                             const Kernels<ops::ElementwiseBinary>& k) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, k, &typed);
  }

 private:
  /// f64, integers and i1.
  static void typed(const HostCall<ops::ElementwiseBinary>& c, const ExecutionContext& step,
                    const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    bool divided_by_zero = false;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::same_as<T, float>)
        with_kind<ops::kBinaryKinds>(c.params.kind, [&](auto kind) {
          map_share<T>(
              dtype, c.out[0], step, worker,
              [&](T a, T b) { return ops::ElementwiseBinary::apply(decltype(kind)::value, a, b, divided_by_zero); },
              c.in[0], c.in[1]);
        });
    });
    if (divided_by_zero) step.violated(worker);
  }
};
static_assert(Records<ops::ElementwiseBinary>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/elementwise_binary.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
template <class Call> void binary_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.in[0].elements(step), 64, worker);
  apply_binary(c.params.kind, c.in[0].template as<float>(), c.in[1].template as<float>(), c.out[0].template as<float>(),
               part.first, part.last);
}

template <class L>
inline constexpr Kernels<ops::ElementwiseBinary> kKernels<ops::ElementwiseBinary, L>{
    {kHalves<L>, &binary_elements<HostCall<ops::ElementwiseBinary>>}};

#endif
