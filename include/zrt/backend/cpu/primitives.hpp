// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/primitives.hpp: the kernels of every variant for tensor programs, and the choice among them.
#pragma once

#include <zrt/backend/cpu/kernels.hpp>
#include <zrt/backend/cpu/primitive_set.hpp>

/// Marks a lambda that is nothing but the body of an unrolled loop.
#define ZRT_UNROLLED __attribute__((always_inline))
#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/primitives.inc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>
#undef ZRT_UNROLLED

namespace zrt::inline ZRT_ABI::cpu {

namespace detail {

/// The kernels of variant `kIsa`; null where this translation unit builds none.
template <Isa kIsa> consteval const PrimitiveSet* primitives_of() noexcept {
  if constexpr (kIsa < kLowestIsa) return primitives_of<kLowestIsa>();
#if ZRT_HAS_V1
  if constexpr (kIsa == Isa::v1) return &v1::kPrimitives<void>;
#endif
#if ZRT_HAS_V3
  if constexpr (kIsa == Isa::v3) return &v3::kPrimitives<void>;
#endif
#if ZRT_HAS_V4
  if constexpr (kIsa == Isa::v4) return &v4::kPrimitives<void>;
#endif
  return nullptr;
}

template <class Set> struct PrimitiveSets;
template <Isa... kIsas> struct PrimitiveSets<Variants<kIsas...>> {
  static constexpr std::array<const PrimitiveSet*, sizeof...(kIsas)> kSets{primitives_of<kIsas>()...};
};

}  // namespace detail

/// The kernels for tensor programs of the variant that a KernelSet of the same policies is of.
template <class Set> [[nodiscard]] const PrimitiveSet& primitives_for(Isa isa) noexcept {
  const PrimitiveSet* found = nullptr;
  for (const PrimitiveSet* set : detail::PrimitiveSets<Set>::kSets)
    if (set != nullptr && (found == nullptr || set->isa == isa)) found = set;
  ZRT_ASSERT(found != nullptr && found->isa == isa);
  return *found;
}

}  // namespace zrt::inline ZRT_ABI::cpu
