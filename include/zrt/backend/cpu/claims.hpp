// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/claims.hpp: the ops that the CPU computes.
#pragma once

#include <zrt/backend/cpu/ops/arg_max.hpp>
#include <zrt/backend/cpu/ops/attention.hpp>
#include <zrt/backend/cpu/ops/bias_act.hpp>
#include <zrt/backend/cpu/ops/boxes.hpp>
#include <zrt/backend/cpu/ops/cast.hpp>
#include <zrt/backend/cpu/ops/clamp.hpp>
#include <zrt/backend/cpu/ops/compare.hpp>
#include <zrt/backend/cpu/ops/concat.hpp>
#include <zrt/backend/cpu/ops/cond.hpp>
#include <zrt/backend/cpu/ops/constant.hpp>
#include <zrt/backend/cpu/ops/convolve.hpp>
#include <zrt/backend/cpu/ops/dequantize.hpp>
#include <zrt/backend/cpu/ops/dot_general.hpp>
#include <zrt/backend/cpu/ops/dynamic_update_slice.hpp>
#include <zrt/backend/cpu/ops/element_chain.hpp>
#include <zrt/backend/cpu/ops/elementwise_binary.hpp>
#include <zrt/backend/cpu/ops/elementwise_unary.hpp>
#include <zrt/backend/cpu/ops/embedding.hpp>
#include <zrt/backend/cpu/ops/extract_patches.hpp>
#include <zrt/backend/cpu/ops/flash_attn_batched.hpp>
#include <zrt/backend/cpu/ops/flash_attn_varlen.hpp>
#include <zrt/backend/cpu/ops/gated_act.hpp>
#include <zrt/backend/cpu/ops/gather.hpp>
#include <zrt/backend/cpu/ops/greedy_token.hpp>
#include <zrt/backend/cpu/ops/head_columns.hpp>
#include <zrt/backend/cpu/ops/iota.hpp>
#include <zrt/backend/cpu/ops/kv_write_batched.hpp>
#include <zrt/backend/cpu/ops/layer_norm.hpp>
#include <zrt/backend/cpu/ops/layer_norm_runs.hpp>
#include <zrt/backend/cpu/ops/linear.hpp>
#include <zrt/backend/cpu/ops/linear_heads.hpp>
#include <zrt/backend/cpu/ops/lm_head.hpp>
#include <zrt/backend/cpu/ops/lora_add.hpp>
#include <zrt/backend/cpu/ops/mla_kv_write.hpp>
#include <zrt/backend/cpu/ops/moe_down_acc.hpp>
#include <zrt/backend/cpu/ops/moe_gate_topk.hpp>
#include <zrt/backend/cpu/ops/moe_gate_up.hpp>
#include <zrt/backend/cpu/ops/pad.hpp>
#include <zrt/backend/cpu/ops/quantize.hpp>
#include <zrt/backend/cpu/ops/reduce.hpp>
#include <zrt/backend/cpu/ops/reduce_window.hpp>
#include <zrt/backend/cpu/ops/requantize.hpp>
#include <zrt/backend/cpu/ops/reshape.hpp>
#include <zrt/backend/cpu/ops/residual_add.hpp>
#include <zrt/backend/cpu/ops/residual_rms_norm.hpp>
#include <zrt/backend/cpu/ops/rms_norm.hpp>
#include <zrt/backend/cpu/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/backend/cpu/ops/rms_norm_fused_qkv.hpp>
#include <zrt/backend/cpu/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/backend/cpu/ops/rng_normal.hpp>
#include <zrt/backend/cpu/ops/rng_uniform.hpp>
#include <zrt/backend/cpu/ops/rope.hpp>
#include <zrt/backend/cpu/ops/sample.hpp>
#include <zrt/backend/cpu/ops/scan.hpp>
#include <zrt/backend/cpu/ops/scatter_add.hpp>
#include <zrt/backend/cpu/ops/scatter_reduce.hpp>
#include <zrt/backend/cpu/ops/segment_reduce.hpp>
#include <zrt/backend/cpu/ops/select.hpp>
#include <zrt/backend/cpu/ops/shared_expert.hpp>
#include <zrt/backend/cpu/ops/softmax.hpp>
#include <zrt/backend/cpu/ops/ssm_conv1d.hpp>
#include <zrt/backend/cpu/ops/ssm_delta_net.hpp>
#include <zrt/backend/cpu/ops/ssm_gated_norm.hpp>
#include <zrt/backend/cpu/ops/ssm_scan.hpp>
#include <zrt/backend/cpu/ops/take.hpp>
#include <zrt/backend/cpu/ops/top_k.hpp>
#include <zrt/backend/cpu/ops/weight_scale.hpp>
#include <zrt/backend/cpu/ops/while_loop.hpp>

#include <boost/mp11/algorithm.hpp>
#include <boost/mp11/list.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The ops of most language models. Their kernels are compiled with the device, once for all engines and programs.
using LanguageModelOps =
    boost::mp11::mp_list<ops::RmsNorm, ops::Embedding, ops::ResidualAdd, ops::Linear, ops::RmsNormFusedQkv,
                         ops::RmsNormFusedMlpGateUp, ops::Rope, ops::RmsNormFusedRopeKvWrite, ops::FlashAttnBatched,
                         ops::ResidualRmsNorm, ops::LmHead, ops::GreedyToken, ops::Sample, ops::KvWriteBatched,
                         ops::GatedAct, ops::Reshape, ops::Take, ops::Softmax>;

/// The ops of some families: experts, recurrent state, latent attention, layer norms; and of adapters. Their kernels are
/// compiled by engines that run such families, or take adapters, so that a host of others has none.
using FamilyOps =
    boost::mp11::mp_list<ops::LayerNormRuns, ops::FlashAttnVarlen, ops::LinearHeads, ops::MlaKvWrite, ops::WeightScale,
                         ops::SsmConv1d, ops::SsmScan, ops::SsmDeltaNet, ops::SsmGatedNorm, ops::HeadColumns,
                         ops::MoeGateTopk, ops::MoeGateUp, ops::MoeDownAcc, ops::SharedExpert, ops::LoraAdd>;

/// The ops of tensor programs. Their kernels are compiled by programs that record them, so that an engine has none.
using ProgramOps =
    boost::mp11::mp_list<ops::ElementwiseUnary, ops::ElementwiseBinary, ops::Compare, ops::Select, ops::Cast,
                         ops::Clamp, ops::Reduce, ops::DotGeneral, ops::LayerNorm, ops::Attention, ops::Convolve,
                         ops::BiasAct, ops::ElementChain, ops::Constant, ops::ArgMax, ops::BroadcastTo, ops::Slice,
                         ops::Concat, ops::Transpose, ops::Pad, ops::Tile, ops::Iota, ops::Gather, ops::ScatterAdd,
                         ops::ScatterReduce, ops::ReduceWindow, ops::ExtractPatches, ops::RngUniform, ops::RngNormal,
                         ops::TopK, ops::SegmentReduce, ops::Quantize, ops::Dequantize, ops::Requantize,
                         ops::DynamicSlice, ops::DynamicUpdateSlice, ops::Cond, ops::WhileLoop, ops::Scan>;

/// The ops that have an adapter. Macros are absent from all lists: they run as what they expand to.
using Claims = boost::mp11::mp_append<LanguageModelOps, FamilyOps, ProgramOps>;

}  // namespace zrt::inline ZRT_ABI::cpu
