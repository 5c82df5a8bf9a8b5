// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels.hpp: the kernels of every variant, and the choice among them.
#pragma once

#include <zrt/backend/cpu/kernel_set.hpp>
#include <zrt/backend/cpu/policies.hpp>
#include <zrt/backend/cpu/scratch.hpp>
#include <zrt/backend/cpu/simd/variants.hpp>

#include <cstring>
#include <limits>
#include <utility>

/// Marks a lambda that is nothing but the body of an unrolled loop.
#define ZRT_UNROLLED __attribute__((always_inline))

// What differs between variants beyond simd/, and its tools: each namespace gets the same names.
ZRT_FP_BEGIN

// Each fragment needs the ones before it.
// clang-format off
#if ZRT_HAS_V1
namespace zrt::inline ZRT_ABI::cpu::v1 {
#include <zrt/backend/cpu/kernels/unroll.inc.hpp>
#include <zrt/backend/cpu/kernels/shuffles_portable.inc.hpp>
#include <zrt/backend/cpu/kernels/block_rows_portable.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v1
#endif

#if ZRT_HAS_V3
ZRT_REGION_BEGIN(ZRT_TARGET_V3)
namespace zrt::inline ZRT_ABI::cpu::v3 {
#include <zrt/backend/cpu/kernels/unroll.inc.hpp>
#include <zrt/backend/cpu/kernels/shuffles_avx2.inc.hpp>
#include <zrt/backend/cpu/kernels/block_rows_x86.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v3
ZRT_REGION_END
#endif

#if ZRT_HAS_V4
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {
#include <zrt/backend/cpu/kernels/unroll.inc.hpp>
#include <zrt/backend/cpu/kernels/shuffles_avx512.inc.hpp>
#include <zrt/backend/cpu/kernels/block_rows_x86.inc.hpp>
}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
#endif
// clang-format on

ZRT_FP_END

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels.inc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#undef ZRT_UNROLLED

namespace zrt::inline ZRT_ABI::cpu {

/// The lowest variant that this translation unit builds; its own baseline demands it of the processor.
#if ZRT_HAS_V1
inline constexpr Isa kLowestIsa = Isa::v1;
#elif ZRT_HAS_V3
inline constexpr Isa kLowestIsa = Isa::v3;
#else
inline constexpr Isa kLowestIsa = Isa::v4;
#endif

namespace detail {

/// The kernels of variant `kIsa`; null where this translation unit builds none.
template <Isa kIsa, DType... kTypes> consteval const KernelSet* kernels_of() noexcept {
  if constexpr (kIsa < kLowestIsa) return kernels_of<kLowestIsa, kTypes...>();
#if ZRT_HAS_V1
  if constexpr (kIsa == Isa::v1) return &v1::kKernels<kTypes...>;
#endif
#if ZRT_HAS_V3
  if constexpr (kIsa == Isa::v3) return &v3::kKernels<kTypes...>;
#endif
#if ZRT_HAS_V4
  if constexpr (kIsa == Isa::v4) return &v4::kKernels<kTypes...>;
#endif
  return nullptr;
}

template <class Types, class Set> struct KernelSets;
template <DType... kTypes, Isa... kIsas> struct KernelSets<WeightTypes<kTypes...>, Variants<kIsas...>> {
  template <Isa kIsa> static consteval const KernelSet* of() noexcept {
    if constexpr (((kTypes == DType::f32) || ...))
      return kernels_of<kIsa, kTypes...>();
    else
      return kernels_of<kIsa, DType::f32, kTypes...>();
  }
  static constexpr std::array<const KernelSet*, sizeof...(kIsas)> kSets{of<kIsas>()...};
};

}  // namespace detail

/// The kernels that a host's policies ask for, one entry per variant; null where it is not built.
template <class Types, class Set>
inline constexpr Span<const KernelSet* const> kKernelSets = detail::KernelSets<Types, Set>::kSets;

/// Returns the best of `sets` that a processor with `isa` runs, or null.
[[nodiscard]] inline const KernelSet* kernels_for(
    Isa isa, Span<const KernelSet* const> sets = kKernelSets<AllWeightTypes, AllVariants>) noexcept {
  const Isa highest = isa < kLowestIsa ? kLowestIsa : isa;
  const KernelSet* best = nullptr;
  for (const KernelSet* set : sets)
    if (set != nullptr && set->isa <= highest && (best == nullptr || set->isa > best->isa)) best = set;
  return best;
}

}  // namespace zrt::inline ZRT_ABI::cpu
