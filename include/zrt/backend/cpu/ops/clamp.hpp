// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/clamp.hpp: every element held between two bounds.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_CLAMP)
#define ZRT_BACKEND_CPU_OPS_CLAMP

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/extremes.hpp>
#include <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/typed_elements.hpp>
#include <zrt/ops/clamp.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Clamp> : ElementKernels<ops::Clamp> {};

template <> struct Adapter<ops::Clamp> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Clamp>& c, const Kernels<ops::Clamp>& k) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, k, &typed);
  }

 private:
  /// f64, integers and i1.
  static void typed(const HostCall<ops::Clamp>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::same_as<T, float>)
        map_share<T>(
            dtype, c.out[0], step, worker, [](T x, T low, T high) { return ops::Clamp::apply(x, low, high); }, c.in[0],
            c.in[1], c.in[2]);
    });
  }
};
static_assert(Records<ops::Clamp>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/clamp.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Elements are split.
template <class Call> void clamp_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(c.out[0].elements(step), 64, worker);
  const float* x = c.in[0].template as<float>();
  const float* low = c.in[1].template as<float>();
  const float* high = c.in[2].template as<float>();
  float* y = c.out[0].template as<float>();
  std::uint64_t i = part.first;
  for (; i + 16 <= part.last; i += 16) store(y + i, minimum(maximum(load(x + i), load(low + i)), load(high + i)));
  const auto rest = static_cast<std::size_t>(part.last - i);
  if (rest != 0)
    store_first(y + i, minimum(maximum(load_first(x + i, rest), load_first(low + i, rest)), load_first(high + i, rest)),
                rest);
}

template <class L>
inline constexpr Kernels<ops::Clamp> kKernels<ops::Clamp, L>{{kHalves<L>, &clamp_elements<HostCall<ops::Clamp>>}};

#endif
