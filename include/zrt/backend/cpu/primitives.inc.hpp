// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/primitives.inc.hpp: textual fragment: one variant's kernels for tensor programs.

// Kernels are templates on their arguments, so that a program without them does not compile them.
// clang-format off
#include <zrt/backend/cpu/kernels/primitive_elements.inc.hpp>
#include <zrt/backend/cpu/kernels/primitive_folds.inc.hpp>
#include <zrt/backend/cpu/kernels/dot_general.inc.hpp>
#include <zrt/backend/cpu/kernels/plain_attention.inc.hpp>
// clang-format on

template <class>
inline constexpr PrimitiveSet kPrimitives{
    .isa = kIsa,
    .halves = {{{&unpack_halves<F16Row>, &pack_halves<DType::f16>, Scalar<DType::f16>::lowest,
                 Scalar<DType::f16>::highest},
                {&unpack_halves<Bf16Row>, &pack_halves<DType::bf16>, Scalar<DType::bf16>::lowest,
                 Scalar<DType::bf16>::highest}}},
    .unary = &unary_elements<HostCall<ops::ElementwiseUnary>>,
    .binary = &binary_elements<HostCall<ops::ElementwiseBinary>>,
    .compare = &compare_elements<HostCall<ops::Compare>>,
    .select = &select_elements<HostCall<ops::Select>>,
    .clamp = &clamp_elements<HostCall<ops::Clamp>>,
    .layer_norm = &layer_norm_rows<HostCall<ops::LayerNorm>>,
    .reduce = &reduce_rows<HostCall<ops::Reduce>>,
    .dot_product = &dot_product<DotShape>,
    .dot_f64 = &dot16_f64<double>,
    .attention = &plain_attention<HostCall<ops::Attention>>,
    .bias_act = &bias_act_elements<HostCall<ops::BiasAct>>,
};
