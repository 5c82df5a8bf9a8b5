// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/all.hpp: the cases of every op of the catalog.
#pragma once

#include <zrt/ops/catalog.hpp>

#include <property/op_cases/arg_max.hpp>
#include <property/op_cases/attention.hpp>
#include <property/op_cases/bias_act.hpp>
#include <property/op_cases/broadcast_to.hpp>
#include <property/op_cases/cast.hpp>
#include <property/op_cases/clamp.hpp>
#include <property/op_cases/compare.hpp>
#include <property/op_cases/concat.hpp>
#include <property/op_cases/cond.hpp>
#include <property/op_cases/constant.hpp>
#include <property/op_cases/convolve.hpp>
#include <property/op_cases/dequantize.hpp>
#include <property/op_cases/dot_general.hpp>
#include <property/op_cases/dynamic_slice.hpp>
#include <property/op_cases/dynamic_update_slice.hpp>
#include <property/op_cases/elementwise_binary.hpp>
#include <property/op_cases/elementwise_unary.hpp>
#include <property/op_cases/embedding.hpp>
#include <property/op_cases/extract_patches.hpp>
#include <property/op_cases/flash_attn_batched.hpp>
#include <property/op_cases/gated_act.hpp>
#include <property/op_cases/gather.hpp>
#include <property/op_cases/greedy_token.hpp>
#include <property/op_cases/iota.hpp>
#include <property/op_cases/kv_write_batched.hpp>
#include <property/op_cases/layer_norm.hpp>
#include <property/op_cases/linear.hpp>
#include <property/op_cases/lm_head.hpp>
#include <property/op_cases/lm_head_logits.hpp>
#include <property/op_cases/multihead_attention.hpp>
#include <property/op_cases/pad.hpp>
#include <property/op_cases/quantize.hpp>
#include <property/op_cases/reduce.hpp>
#include <property/op_cases/reduce_window.hpp>
#include <property/op_cases/requantize.hpp>
#include <property/op_cases/reshape.hpp>
#include <property/op_cases/residual_add.hpp>
#include <property/op_cases/residual_rms_norm.hpp>
#include <property/op_cases/rms_norm.hpp>
#include <property/op_cases/rms_norm_fused_mlp_gate_up.hpp>
#include <property/op_cases/rms_norm_fused_qkv.hpp>
#include <property/op_cases/rms_norm_fused_rope_kv_write.hpp>
#include <property/op_cases/rng_normal.hpp>
#include <property/op_cases/rng_uniform.hpp>
#include <property/op_cases/rope.hpp>
#include <property/op_cases/sample.hpp>
#include <property/op_cases/scan.hpp>
#include <property/op_cases/scatter_add.hpp>
#include <property/op_cases/scatter_reduce.hpp>
#include <property/op_cases/segment_reduce.hpp>
#include <property/op_cases/select.hpp>
#include <property/op_cases/slice.hpp>
#include <property/op_cases/softmax.hpp>
#include <property/op_cases/stop_gradient.hpp>
#include <property/op_cases/swiglu.hpp>
#include <property/op_cases/take.hpp>
#include <property/op_cases/tile.hpp>
#include <property/op_cases/top_k.hpp>
#include <property/op_cases/transpose.hpp>
#include <property/op_cases/while_loop.hpp>

namespace op_cases {

template <class... O> consteval bool all_have_cases(boost::mp11::mp_list<O...>) {
  static_assert((HasOpCases<O> && ...), "an op of the catalog has no OpCases: add tests/property/op_cases/<op>.hpp");
  return true;
}
/// The ops whose meaning is the catalog's; what a host defines has tests of its own.
template <class O> using IsDefinedByHost = boost::mp11::mp_bool<zrt::DefinedByHost<O>>;
using CatalogWithCases = boost::mp11::mp_remove_if<zrt::ops::Catalog, IsDefinedByHost>;
static_assert(all_have_cases(CatalogWithCases{}));

}  // namespace op_cases
