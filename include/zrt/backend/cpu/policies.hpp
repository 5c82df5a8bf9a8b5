// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/policies.hpp: what a host compiles the CPU backend for: weight types and variants.
#pragma once

#include <zrt/backend/cpu/simd/isa.hpp>
#include <zrt/quant/types.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// An element type that weights may have: quant/ knows its layout and its sums.
template <DType T>
concept WeightType = quant::facts(T) != nullptr;

/// The types of weights that kernels are compiled for. f32 is always one of them: norms and biases are f32.
template <DType... kTypes> struct WeightTypes {
  static_assert((WeightType<kTypes> && ...),
                "zrt: a type in WeightTypes is no weight type that is computed; quant/types.hpp lists those that are");
};

/// The variants that kernels are compiled for; the best that the processor has is used.
///
/// One below the translation unit's own baseline stands for the lowest that the unit builds. One of
/// another processor family is left out.
template <Isa... kIsas> struct Variants {
  static_assert(sizeof...(kIsas) != 0, "zrt: Variants is empty; name at least one cpu::Isa");
};

namespace detail {

template <class Set> struct HighestIsa;
template <Isa... kIsas> struct HighestIsa<Variants<kIsas...>> {
  static constexpr Isa kIsa = [] {
    Isa highest = Isa::v1;
    ((highest = kIsas > highest ? kIsas : highest), ...);
    return highest;
  }();
};

template <class List> struct TypesOfLayouts;
template <DType... kTypes> struct TypesOfLayouts<boost::mp11::mp_list<quant::Layout<kTypes>...>> {
  using Types = WeightTypes<kTypes...>;
};

}  // namespace detail

using AllWeightTypes = detail::TypesOfLayouts<quant::Types>::Types;
using AllVariants = Variants<Isa::v1, Isa::dotprod, Isa::v3, Isa::v4, Isa::amx>;

}  // namespace zrt::inline ZRT_ABI::cpu
