// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/targets.hpp: every kernel that programs from ONNX files call, in one list.
#pragma once

#include <zrt/ir/onnx/kernels_bits.hpp>
#include <zrt/ir/onnx/kernels_image.hpp>
#include <zrt/ir/onnx/kernels_reduce.hpp>
#include <zrt/ir/onnx/kernels_window.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx {

/// Every kernel that programs from ONNX files call: the Targets of a backend that runs them. C has a form for each
/// (plan/c/custom_forms.hpp).
using Targets = boost::mp11::mp_push_back<ElementwiseTargets, kernels::RowProduct, kernels::CumSum, kernels::CumProd,
                                          kernels::BitCast, kernels::MaxPlace, kernels::Determinant, kernels::RoiAlign,
                                          kernels::GridSample>;

/// The same list under a name that can be declared without the kernels.
struct AllTargets {
  using List = Targets;
};

namespace detail {

template <class... T> consteval bool list_attributes(boost::mp11::mp_list<T...>) {
  return (ops::ListsAttributes<T> && ...);
}
static_assert(list_attributes(Targets{}));

}  // namespace detail

}  // namespace zrt::inline ZRT_ABI::ir::onnx

ZRT_LOAD_TIME_END
