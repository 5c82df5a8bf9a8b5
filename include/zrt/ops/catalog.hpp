// SPDX-License-Identifier: Apache-2.0
// zrt/ops/catalog.hpp: the list of all ops, and the rules that the list itself obeys.
#pragma once

#include <zrt/ops/arg_max.hpp>
#include <zrt/ops/attention.hpp>
#include <zrt/ops/bias_act.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/catalog_rules.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/ops/compare.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/cond.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/convolve.hpp>
#include <zrt/ops/custom_call.hpp>
#include <zrt/ops/dequantize.hpp>
#include <zrt/ops/dot_general.hpp>
#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/element_chain.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/extract_patches.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/flash_attn_varlen.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/gated_delta_net.hpp>
#include <zrt/ops/gather.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/head_columns.hpp>
#include <zrt/ops/iota.hpp>
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/layer_norm_runs.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/linear_heads.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/lm_head_logits.hpp>
#include <zrt/ops/lora_add.hpp>
#include <zrt/ops/mamba_mixer.hpp>
#include <zrt/ops/mla_attention.hpp>
#include <zrt/ops/mla_kv_write.hpp>
#include <zrt/ops/moe.hpp>
#include <zrt/ops/moe_down_acc.hpp>
#include <zrt/ops/moe_gate_topk.hpp>
#include <zrt/ops/moe_gate_up.hpp>
#include <zrt/ops/multihead_attention.hpp>
#include <zrt/ops/pad.hpp>
#include <zrt/ops/quantize.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/reduce_window.hpp>
#include <zrt/ops/requantize.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/ops/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/ops/rms_norm_fused_qkv.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>
#include <zrt/ops/rope.hpp>
#include <zrt/ops/sample.hpp>
#include <zrt/ops/scan.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/ops/segment_reduce.hpp>
#include <zrt/ops/select.hpp>
#include <zrt/ops/shared_expert.hpp>
#include <zrt/ops/shortconv.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/softmax.hpp>
#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_delta_net.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>
#include <zrt/ops/ssm_scan.hpp>
#include <zrt/ops/stop_gradient.hpp>
#include <zrt/ops/swiglu.hpp>
#include <zrt/ops/take.hpp>
#include <zrt/ops/tile.hpp>
#include <zrt/ops/top_k.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/ops/vision_deepstack_extract.hpp>
#include <zrt/ops/vision_patch_embed.hpp>
#include <zrt/ops/vision_scatter.hpp>
#include <zrt/ops/vision_spatial_merge.hpp>
#include <zrt/ops/weight_scale.hpp>
#include <zrt/ops/while_loop.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ops {

/// Every op, by number. Tables, verifier, reference backend and tests are made from this list.
using Catalog = boost::mp11::mp_list<
    RmsNorm, MultiheadAttention, Swiglu, Embedding, ResidualAdd, LmHeadLogits, Linear, RmsNormFusedQkv,
    RmsNormFusedMlpGateUp, Rope, RmsNormFusedRopeKvWrite, FlashAttnBatched, ResidualRmsNorm, LmHead, GreedyToken,
    Sample, KvWriteBatched, GatedAct, LayerNormRuns, FlashAttnVarlen, MlaAttention, LinearHeads, MlaKvWrite,
    WeightScale, SsmConv1d, SsmScan, SsmDeltaNet, SsmGatedNorm, HeadColumns, MambaMixer, Shortconv, GatedDeltaNet, Moe,
    VisionPatchEmbed, VisionSpatialMerge, VisionDeepstackExtract, VisionScatter, MoeGateTopk, MoeGateUp, MoeDownAcc,
    SharedExpert, Constant, ElementwiseUnary, ElementwiseBinary, Compare, Select, Cast, StopGradient, Reduce, ArgMax,
    DotGeneral, Reshape, Transpose, BroadcastTo, Slice, Concat, Pad, Tile, Iota, Take, Gather, ScatterAdd,
    ScatterReduce, DynamicSlice, DynamicUpdateSlice, LayerNorm, Clamp, Softmax, Attention, Cond, WhileLoop, Scan,
    ReduceWindow, ExtractPatches, CustomCall, RngUniform, RngNormal, TopK, SegmentReduce, Quantize, Dequantize,
    Requantize, ElementChain, Convolve, BiasAct, LoraAdd>;

static_assert(CheckCatalog<Catalog>::kOk);

}  // namespace zrt::inline ZRT_ABI::ops

ZRT_LOAD_TIME_END
