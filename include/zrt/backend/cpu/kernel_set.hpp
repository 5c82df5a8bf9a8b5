// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernel_set.hpp: the table of one variant's kernels, computed from the claims.
#pragma once

#include <zrt/backend/cpu/claims.hpp>

#include <boost/mp11/algorithm.hpp>

namespace zrt::inline ZRT_ABI::cpu {

namespace detail {

template <class O> using HasKernelsOf = boost::mp11::mp_bool<HasKernels<O>>;

template <class List> struct KernelsOfEach;
template <class... O> struct KernelsOfEach<boost::mp11::mp_list<O...>> : Kernels<O>... {};

}  // namespace detail

/// What a device carries of one variant: the kernels of weights and of every op of LanguageModelOps, as plain function
/// pointers. Immutable; chosen once per engine.
struct KernelSet : WeightTable, detail::KernelsOfEach<boost::mp11::mp_copy_if<LanguageModelOps, detail::HasKernelsOf>> {
  using Ops = boost::mp11::mp_copy_if<LanguageModelOps, detail::HasKernelsOf>;

  template <class O> [[nodiscard]] constexpr const Kernels<O>& of() const noexcept { return *this; }
};

}  // namespace zrt::inline ZRT_ABI::cpu
