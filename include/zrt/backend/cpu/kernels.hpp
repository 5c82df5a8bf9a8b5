// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels.hpp: the kernels of every variant, and the choice among them.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS)
#define ZRT_BACKEND_CPU_KERNELS

#include <zrt/backend/cpu/kernel_set.hpp>
#include <zrt/backend/cpu/kernels/tile_products.hpp>
#include <zrt/backend/cpu/kernels/weight_table.hpp>
#include <zrt/backend/cpu/policies.hpp>

#include <array>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

namespace zrt::inline ZRT_ABI::cpu {

namespace detail {

/// The tables of a variant; null where this translation unit does not build it.
template <Isa> struct BuiltTables {
  template <class O> static consteval const Kernels<O>* kernels() noexcept { return nullptr; }
  template <DType...> static consteval const KernelSet* set() noexcept { return nullptr; }
};
#if ZRT_HAS_V1
template <> struct BuiltTables<Isa::v1> : v1::Tables {};
#endif
#if ZRT_HAS_DOTPROD
template <> struct BuiltTables<Isa::dotprod> : dotprod::Tables {};
#endif
#if ZRT_HAS_V3
template <> struct BuiltTables<Isa::v3> : v3::Tables {};
#endif
#if ZRT_HAS_V4
template <> struct BuiltTables<Isa::v4> : v4::Tables {};
template <> struct BuiltTables<Isa::amx> : v4::TileTables {};
#endif
template <Isa kIsa> using TablesOf = BuiltTables<(kIsa < kLowestIsa ? kLowestIsa : kIsa)>;

template <class Types, class Set> struct KernelSets;
template <DType... kTypes, Isa... kIsas> struct KernelSets<WeightTypes<kTypes...>, Variants<kIsas...>> {
  template <Isa kIsa> static consteval const KernelSet* of() noexcept {
    if constexpr (((kTypes == DType::f32) || ...))
      return TablesOf<kIsa>::template set<kTypes...>();
    else
      return TablesOf<kIsa>::template set<DType::f32, kTypes...>();
  }
  static constexpr std::array<const KernelSet*, sizeof...(kIsas)> kSets{of<kIsas>()...};
};

/// A variant and its kernels of one op; null where it is not built.
template <class O> struct OpKernels {
  Isa isa;
  const Kernels<O>* kernels;
};
template <class O, class Set> struct OpKernelSets;
template <class O, Isa... kIsas> struct OpKernelSets<O, Variants<kIsas...>> {
  static constexpr std::array<OpKernels<O>, sizeof...(kIsas)> kSets{
      OpKernels<O>{kIsas < kLowestIsa ? kLowestIsa : kIsas, TablesOf<kIsas>::template kernels<O>()}...};
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

/// The kernels of op O in the variant of `set`, which is one of the policies `Set`: those that the device carries, or
/// else those of O alone, which are then compiled here.
template <class O, class Set> [[nodiscard]] const Kernels<O>& kernels_of(const KernelSet& set) noexcept {
  if constexpr (boost::mp11::mp_contains<KernelSet::Ops, O>::value) {
    return set.of<O>();
  } else {
    const Kernels<O>* found = nullptr;
    for (const detail::OpKernels<O>& each : detail::OpKernelSets<O, Set>::kSets)
      if (each.kernels != nullptr && (found == nullptr || each.isa == set.isa)) found = each.kernels;
    return *found;
  }
}

/// Records a call of op O with the kernels of the variant of `set`, which is one of the policies `Set`.
template <class O, class Set>
[[nodiscard]] ZRT_COLD Result<void> record(Recorder& r, const HostCall<O>& c, const KernelSet& set) noexcept {
  if constexpr (HasKernels<O>)
    return Adapter<O>::record(r, c, kernels_of<O, Set>(set));
  else
    return Adapter<O>::record(r, c);
}

}  // namespace zrt::inline ZRT_ABI::cpu

#elif defined(ZRT_VARIANT)

template <DType... kTypes, class... O>
[[nodiscard]] consteval KernelSet kernel_set(boost::mp11::mp_list<O...>, Isa isa, DotPacked dot) noexcept {
  return {{isa, kWeightKernels<kTypes...>, dot}, {kKernels<O>...}};
}
template <DType... kTypes>
inline constexpr KernelSet kKernelSet =
    kernel_set<kTypes...>(KernelSet::Ops{}, kIsa, &packed_products<packed_forms<kTypes...>()>);

/// What may be used of this variant from outside.
struct Tables {
  template <class O> static consteval const Kernels<O>* kernels() noexcept { return &kKernels<O>; }
  template <DType... kTypes> static consteval const KernelSet* set() noexcept { return &kKernelSet<kTypes...>; }
};

#if ZRT_VARIANT == 4
template <DType... kTypes>
inline constexpr KernelSet kTileKernelSet =
    kernel_set<kTypes...>(KernelSet::Ops{}, Isa::amx, &tile_products<packed_forms<kTypes...>()>);

/// The variant amx: v4 but for the products of packed weights.
struct TileTables : Tables {
  template <DType... kTypes> static consteval const KernelSet* set() noexcept { return &kTileKernelSet<kTypes...>; }
};
#endif

#endif
