// SPDX-License-Identifier: Apache-2.0
// tests/static/op_numbers.cpp: op numbers are ids that stand in plans and traces; they never move.
#include <zrt/ops/catalog.hpp>

namespace {

using namespace zrt::ops;

template <class O> constexpr bool is(std::uint8_t n, std::string_view name, zrt::Rung rung) {
  return zrt::number(O::opcode) == n && O::name == name && O::rung == rung;
}
using enum zrt::Rung;

static_assert(is<RmsNorm>(0, "rms_norm", fused));
static_assert(is<MultiheadAttention>(1, "multihead_attention", macro));
static_assert(is<Swiglu>(2, "swiglu", macro));
static_assert(is<Embedding>(7, "embedding", fused));
static_assert(is<ResidualAdd>(8, "residual_add", fused));
static_assert(is<LmHeadLogits>(10, "lm_head_logits", macro));
static_assert(is<Linear>(32, "linear", fused));
static_assert(is<RmsNormFusedQkv>(33, "rms_norm_fused_qkv", fused));
static_assert(is<RmsNormFusedMlpGateUp>(34, "rms_norm_fused_mlp_gate_up", fused));
static_assert(is<Rope>(35, "rope", fused));
static_assert(is<RmsNormFusedRopeKvWrite>(36, "rms_norm_fused_rope_kv_write", fused));
static_assert(is<FlashAttnBatched>(38, "flash_attn_batched", fused));
static_assert(is<ResidualRmsNorm>(47, "residual_rms_norm", fused));
static_assert(is<LmHead>(48, "lm_head", fused));
static_assert(is<GreedyToken>(49, "greedy_token", fused));
static_assert(is<Sample>(50, "sample", fused));
static_assert(is<KvWriteBatched>(51, "kv_write_batched", fused));
static_assert(is<GatedAct>(62, "gated_act", fused));
static_assert(is<BiasAct>(104, "bias_act", fused));
static_assert(is<Constant>(64, "constant", primitive));
static_assert(is<ElementwiseUnary>(65, "elementwise_unary", primitive));
static_assert(is<ElementwiseBinary>(66, "elementwise_binary", primitive));
static_assert(is<Compare>(67, "compare", primitive));
static_assert(is<Select>(68, "select", primitive));
static_assert(is<Cast>(69, "cast", primitive));
static_assert(is<StopGradient>(70, "stop_gradient", primitive));
static_assert(is<Reduce>(71, "reduce", primitive));
static_assert(is<ArgMax>(72, "arg_max", primitive));
static_assert(is<DotGeneral>(73, "dot_general", primitive));
static_assert(is<Reshape>(74, "reshape", primitive));
static_assert(is<Transpose>(75, "transpose", primitive));
static_assert(is<BroadcastTo>(76, "broadcast_to", primitive));
static_assert(is<Slice>(77, "slice", primitive));
static_assert(is<Concat>(78, "concat", primitive));
static_assert(is<Pad>(79, "pad", primitive));
static_assert(is<Tile>(80, "tile", primitive));
static_assert(is<Iota>(81, "iota", primitive));
static_assert(is<Take>(82, "take", primitive));
static_assert(is<Gather>(83, "gather", primitive));
static_assert(is<ScatterAdd>(84, "scatter_add", primitive));
static_assert(is<ScatterReduce>(85, "scatter_reduce", primitive));
static_assert(is<DynamicSlice>(86, "dynamic_slice", primitive));
static_assert(is<DynamicUpdateSlice>(87, "dynamic_update_slice", primitive));
static_assert(is<LayerNorm>(88, "layer_norm", primitive));
static_assert(is<Clamp>(89, "clamp", primitive));
static_assert(is<ReduceWindow>(93, "reduce_window", primitive));
static_assert(is<ExtractPatches>(94, "extract_patches", primitive));
static_assert(is<Cond>(90, "cond", primitive));
static_assert(is<WhileLoop>(91, "while_loop", primitive));
static_assert(is<Scan>(92, "scan", primitive));
static_assert(is<CustomCall>(95, "custom_call", primitive));
static_assert(is<RngUniform>(96, "rng_uniform", primitive));
static_assert(is<RngNormal>(97, "rng_normal", primitive));
static_assert(is<TopK>(98, "top_k", primitive));
static_assert(is<SegmentReduce>(99, "segment_reduce", primitive));
static_assert(is<Quantize>(100, "quantize", primitive));
static_assert(is<Dequantize>(101, "dequantize", primitive));
static_assert(is<Requantize>(102, "requantize", primitive));
static_assert(is<Softmax>(103, "softmax", fused));
static_assert(is<Attention>(105, "attention", fused));
static_assert(is<Convolve>(106, "convolve", fused));

// Numbers that are reserved, because what they name is no op.
static_assert(!zrt::number_fits(52, fused) && !zrt::number_fits(53, fused) && !zrt::number_fits(54, fused));
static_assert(!zrt::number_fits(128, fused) && !zrt::number_fits(32, macro) && !zrt::number_fits(103, primitive));

// Parameter blocks stand in plan files: a size that changes needs another version.
static_assert(sizeof(MultiheadAttention::Params) == 72 && sizeof(Rope::Params) == 36 && sizeof(Linear::Params) == 4);
static_assert(sizeof(FlashAttnBatched::Params) == 28 && sizeof(RmsNorm::Params) == 12 && sizeof(LmHead::Params) == 12);
static_assert(sizeof(SampleRequest) == 64);

}  // namespace
