// SPDX-License-Identifier: Apache-2.0
// zrt/ops/hana.hpp: every parameter struct as a Boost.Hana struct, for hosts that walk blocks generically.
#pragma once

#include <zrt/ops/catalog.hpp>

#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/string.hpp>
#include <boost/hana/unpack.hpp>

// Optional: but for the audit of parameter structs, nothing else of the library includes this header or Hana, which
// costs seconds to compile.
// A struct inside a struct is one member here and its own fields in P::fields.

namespace boost::hana {

/// No members; the macro below needs at least one.
template <> struct accessors_impl<zrt::NoParams> {
  template <class...> static constexpr auto apply() { return make_tuple(); }
};

}  // namespace boost::hana

BOOST_HANA_ADAPT_STRUCT(zrt::ShapeParams, extent, symbol, rank);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ArgMaxParams, axis, keep_dims, index_dtype);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::AttentionParams, scale, causal, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::BiasActParams, act, axis);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::BroadcastToParams, shape);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::CastParams, dtype);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::CompareParams, kind);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ConcatParams, axis);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ConstantParams, form);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::CustomCallParams, extent, dtype, rank, target, outputs, target_bytes, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::DotGeneralParams, batch_lhs, batch_rhs, contract_lhs, contract_rhs, batch_count,
                        contract_count, accum_dtype, out_dtype, reserved, alpha);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::DynamicWindowParams, sizes);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ElementwiseBinaryParams, kind);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ElementwiseUnaryParams, kind);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::EmbeddingParams, scale);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ConvolveParams, patches, rows, dot, patches_rhs);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ExtractPatchesParams, window, strides, pad_low, pad_high, dilation, pad_value,
                        spatial);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::FlashAttnBatchedParams, heads, kv_heads, key_dim, value_dim, scale, soft_cap, window);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::GatedActParams, act);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::GatherParams, axis);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::IotaParams, shape, axis, dtype, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::KvWriteBatchedParams, kv_heads, key_dim, value_dim);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::LayerNormParams, epsilon, feature_axis, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::LinearParams, act, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::LmHeadLogitsParams, norm_eps, norm_weight_offset, scale, soft_cap);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::LmHeadParams, scale, soft_cap, act, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::MultiheadAttentionParams, attention, rope, norm_eps, norm_weight_offset);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::PadParams, low, high, interior, value, rank);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::QuantizationParams, output_dtype, per_axis, axis, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::RandomParams, seed, stream, shape, dtype, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ReduceParams, kind, keep_dims, axes, accum_dtype, out_dtype);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ReduceWindowParams, window, strides, pad_low, pad_high, base_dilation,
                        window_dilation, kind, accum_dtype, out_dtype, rank);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ReshapeParams, shape);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ResidualAddParams, scale);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ResidualRmsNormParams, add, norm);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::RmsNormFusedMlpGateUpParams, norm, gated, act_gate, act_up, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::RmsNormFusedQkvParams, norm, act_q, act_k, act_v, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::RmsNormFusedRopeKvWriteParams, eps, weight_offset, kv, rope);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::RmsNormParams, eps, weight_offset, dim);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::RopeParams, head_dim, n_rot, base, factor, magnitude, beta_fast, beta_slow,
                        original_context, style, scaling, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::SampleRequest, active, seed_low, seed_high, generated, temperature, top_k, top_p,
                        min_p, repetition_penalty, frequency_penalty, presence_penalty, history, biases, min_keep,
                        reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ScanParams, carry_count, output_count);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ScatterAddParams, update_window_dims, inserted_window_dims,
                        scatter_dims_to_operand_dims, update_window_count, inserted_window_count, scatter_dims_count,
                        index_vector_dim);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::ScatterReduceParams, axis, reduce, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::SegmentReduceParams, num_segments, kind, accum_dtype, indices_are_sorted, unique);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::SliceParams, starts, sizes);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::SwigluParams, norm_eps, norm_weight_offset, gated, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::TileParams, repeats, rank);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::TopKParams, k, axis, largest, indices_dtype, reserved);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::TransposeParams, perm, rank);
BOOST_HANA_ADAPT_STRUCT(zrt::ops::WhileLoopParams, trip_limit);

namespace zrt::inline ZRT_ABI {

namespace detail {

template <class... O> consteval bool params_are_adapted(boost::mp11::mp_list<O...>) {
  return (boost::hana::Struct<typename O::Params>::value && ...);
}

}  // namespace detail

static_assert(detail::params_are_adapted(ops::Catalog{}),
              "zrt: a parameter struct of the catalog has no BOOST_HANA_ADAPT_STRUCT line in zrt/ops/hana.hpp");

}  // namespace zrt::inline ZRT_ABI
