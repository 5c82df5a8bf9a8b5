// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/compare.hpp: comparison of pairs of elements.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_COMPARE)
#define ZRT_BACKEND_CPU_OPS_COMPARE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/halves.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/backend/cpu/typed_elements.hpp>
#include <zrt/ops/compare.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::Compare> : ElementKernels<ops::Compare> {};

template <> struct Adapter<ops::Compare> {
  static constexpr Loops loops = Loops::typed;

  static Result<void> record(Recorder& r, const HostCall<ops::Compare>& c, const Kernels<ops::Compare>& k) noexcept {
    return push_elements(r, c, c.in[0].type.dtype, k, &typed);
  }

 private:
  /// f64, integers and i1.
  static void typed(const HostCall<ops::Compare>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      if constexpr (!std::same_as<T, float>)
        with_kind<ops::kCompareKinds>(c.params.kind, [&](auto kind) {
          map_share<T, std::uint64_t>(
              dtype, c.out[0], step, worker,
              [](T a, T b) -> std::uint64_t { return ops::Compare::apply(decltype(kind)::value, a, b) ? 1 : 0; },
              c.in[0], c.in[1]);
        });
    });
  }
};
static_assert(Records<ops::Compare>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/compare.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Bytes 0 or 1 for bits 0..7.
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint64_t truth_bytes(std::uint32_t bits) noexcept {
  const std::uint64_t each = (bits & 0xffu) * std::uint64_t{0x0101010101010101} & 0x8040201008040201;
  return (each + 0x7f7f7f7f7f7f7f7f) >> 7 & 0x0101010101010101;
}

/// Elements are split.
template <class Call>
void compare_elements(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  using ops::CompareKind;
  const Range part = split(c.in[0].elements(step), 64, worker);
  const float* a = c.in[0].template as<float>();
  const float* b = c.in[1].template as<float>();
  std::byte* y = c.out[0].data;
  const auto by = [&](auto f) noexcept {
    for (std::uint64_t i = part.first; i < part.last; i += 16) {
      const std::size_t count = part.last - i < 16 ? static_cast<std::size_t>(part.last - i) : 16;
      const std::uint32_t bits =
          lane_bits(count == 16 ? f(load(a + i), load(b + i)) : f(load_first(a + i, count), load_first(b + i, count)));
      const std::uint64_t truth[2] = {truth_bytes(bits), truth_bytes(bits >> 8)};
      std::memcpy(y + i, truth, count);
    }
  };
  switch (c.params.kind) {
    case CompareKind::lt:
      return by([](F32 x, F32 z) noexcept { return less(x, z); });
    case CompareKind::le:
      return by([](F32 x, F32 z) noexcept { return less_equal(x, z); });
    case CompareKind::eq:
      return by([](F32 x, F32 z) noexcept { return equal(x, z); });
    case CompareKind::ge:
      return by([](F32 x, F32 z) noexcept { return less_equal(z, x); });
    case CompareKind::gt:
      return by([](F32 x, F32 z) noexcept { return less(z, x); });
    case CompareKind::ne:
      return by([](F32 x, F32 z) noexcept { return invert(equal(x, z)); });
  }
}

template <class L>
inline constexpr Kernels<ops::Compare> kKernels<ops::Compare, L>{
    {kHalves<L>, &compare_elements<HostCall<ops::Compare>>}};

#endif
