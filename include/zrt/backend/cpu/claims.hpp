// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/claims.hpp: the ops that the CPU computes, and those that it leaves out.
#pragma once

#include <zrt/backend/cpu/adapters/arg_max.hpp>
#include <zrt/backend/cpu/adapters/attention.hpp>
#include <zrt/backend/cpu/adapters/bias_act.hpp>
#include <zrt/backend/cpu/adapters/boxes.hpp>
#include <zrt/backend/cpu/adapters/cast.hpp>
#include <zrt/backend/cpu/adapters/clamp.hpp>
#include <zrt/backend/cpu/adapters/compare.hpp>
#include <zrt/backend/cpu/adapters/concat.hpp>
#include <zrt/backend/cpu/adapters/cond.hpp>
#include <zrt/backend/cpu/adapters/constant.hpp>
#include <zrt/backend/cpu/adapters/convolve.hpp>
#include <zrt/backend/cpu/adapters/dequantize.hpp>
#include <zrt/backend/cpu/adapters/dot_general.hpp>
#include <zrt/backend/cpu/adapters/dynamic_update_slice.hpp>
#include <zrt/backend/cpu/adapters/elementwise_binary.hpp>
#include <zrt/backend/cpu/adapters/elementwise_unary.hpp>
#include <zrt/backend/cpu/adapters/embedding.hpp>
#include <zrt/backend/cpu/adapters/extract_patches.hpp>
#include <zrt/backend/cpu/adapters/flash_attn_batched.hpp>
#include <zrt/backend/cpu/adapters/gated_act.hpp>
#include <zrt/backend/cpu/adapters/gather.hpp>
#include <zrt/backend/cpu/adapters/greedy_token.hpp>
#include <zrt/backend/cpu/adapters/iota.hpp>
#include <zrt/backend/cpu/adapters/kv_write_batched.hpp>
#include <zrt/backend/cpu/adapters/layer_norm.hpp>
#include <zrt/backend/cpu/adapters/linear.hpp>
#include <zrt/backend/cpu/adapters/lm_head.hpp>
#include <zrt/backend/cpu/adapters/pad.hpp>
#include <zrt/backend/cpu/adapters/quantize.hpp>
#include <zrt/backend/cpu/adapters/reduce.hpp>
#include <zrt/backend/cpu/adapters/reduce_window.hpp>
#include <zrt/backend/cpu/adapters/requantize.hpp>
#include <zrt/backend/cpu/adapters/reshape.hpp>
#include <zrt/backend/cpu/adapters/residual_add.hpp>
#include <zrt/backend/cpu/adapters/residual_rms_norm.hpp>
#include <zrt/backend/cpu/adapters/rms_norm.hpp>
#include <zrt/backend/cpu/adapters/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/backend/cpu/adapters/rms_norm_fused_qkv.hpp>
#include <zrt/backend/cpu/adapters/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/backend/cpu/adapters/rng_normal.hpp>
#include <zrt/backend/cpu/adapters/rng_uniform.hpp>
#include <zrt/backend/cpu/adapters/rope.hpp>
#include <zrt/backend/cpu/adapters/sample.hpp>
#include <zrt/backend/cpu/adapters/scan.hpp>
#include <zrt/backend/cpu/adapters/scatter_add.hpp>
#include <zrt/backend/cpu/adapters/scatter_reduce.hpp>
#include <zrt/backend/cpu/adapters/segment_reduce.hpp>
#include <zrt/backend/cpu/adapters/select.hpp>
#include <zrt/backend/cpu/adapters/softmax.hpp>
#include <zrt/backend/cpu/adapters/take.hpp>
#include <zrt/backend/cpu/adapters/top_k.hpp>
#include <zrt/backend/cpu/adapters/while_loop.hpp>

#include <boost/mp11/list.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The ops that have an adapter.
using Claims = boost::mp11::mp_list<
    ops::RmsNorm, ops::Embedding, ops::ResidualAdd, ops::Linear, ops::RmsNormFusedQkv, ops::RmsNormFusedMlpGateUp,
    ops::Rope, ops::RmsNormFusedRopeKvWrite, ops::FlashAttnBatched, ops::ResidualRmsNorm, ops::LmHead, ops::GreedyToken,
    ops::Sample, ops::KvWriteBatched, ops::GatedAct, ops::Reshape, ops::Take, ops::Softmax, ops::ElementwiseUnary,
    ops::ElementwiseBinary, ops::Compare, ops::Select, ops::Cast, ops::Clamp, ops::Reduce, ops::DotGeneral,
    ops::LayerNorm, ops::Attention, ops::Convolve, ops::BiasAct, ops::Constant, ops::ArgMax, ops::BroadcastTo,
    ops::Slice, ops::Concat, ops::Transpose, ops::Pad, ops::Tile, ops::Iota, ops::Gather, ops::ScatterAdd,
    ops::ScatterReduce, ops::ReduceWindow, ops::ExtractPatches, ops::RngUniform, ops::RngNormal, ops::TopK,
    ops::SegmentReduce, ops::Quantize, ops::Dequantize, ops::Requantize, ops::DynamicSlice, ops::DynamicUpdateSlice,
    ops::Cond, ops::WhileLoop, ops::Scan>;

/// Nothing of the catalog is left out. Macros are absent from both lists: they run as what they expand to.
using Unsupported = boost::mp11::mp_list<>;

}  // namespace zrt::inline ZRT_ABI::cpu
