// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/elementwise_unary.hpp: one function applied to every element.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_ELEMENTWISE_UNARY)
#define ZRT_BACKEND_CPU_OPS_ELEMENTWISE_UNARY

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/elements.hpp>
#include <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/typed_elements.hpp>
#include <zrt/ops/elementwise_unary.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::ElementwiseUnary> : ElementKernels<ops::ElementwiseUnary> {};

template <> struct Adapter<ops::ElementwiseUnary> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::ElementwiseUnary>& c,
                             const Kernels<ops::ElementwiseUnary>& k) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, k, &typed);
  }

 private:
  /// f64 and integers.
  static void typed(const HostCall<ops::ElementwiseUnary>& c, const ExecutionContext& step,
                    const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      constexpr auto kKinds = std::integral<T> ? std::uint8_t{2} : ops::kUnaryKinds;
      // Integers have the first two.
      static_assert(static_cast<std::uint8_t>(ops::UnaryKind::abs) == 1);
      if constexpr (!std::same_as<T, float>)
        with_kind<kKinds>(c.params.kind, [&](auto kind) {
          map_share<T>(
              dtype, c.out[0], step, worker, [](T x) { return ops::ElementwiseUnary::apply(decltype(kind)::value, x); },
              c.in[0]);
        });
    });
  }
};
static_assert(Records<ops::ElementwiseUnary>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/elementwise_unary.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
template <class Call> void unary_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.in[0].elements(step), 64, worker);
  apply_unary(c.params.kind, c.in[0].template as<float>(), c.out[0].template as<float>(), part.first, part.last);
}

template <class L>
inline constexpr Kernels<ops::ElementwiseUnary> kKernels<ops::ElementwiseUnary, L>{
    {kHalves<L>, &unary_elements<HostCall<ops::ElementwiseUnary>>}};

#endif
