// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/claims.hpp: the ops that the CPU computes, and those that it leaves out.
#pragma once

#include <zrt/backend/cpu/adapters/argmax.hpp>
#include <zrt/backend/cpu/adapters/embedding.hpp>
#include <zrt/backend/cpu/adapters/flash_attn_batched.hpp>
#include <zrt/backend/cpu/adapters/gated_act.hpp>
#include <zrt/backend/cpu/adapters/kv_write_batched.hpp>
#include <zrt/backend/cpu/adapters/linear.hpp>
#include <zrt/backend/cpu/adapters/lm_head.hpp>
#include <zrt/backend/cpu/adapters/reshape.hpp>
#include <zrt/backend/cpu/adapters/residual_add.hpp>
#include <zrt/backend/cpu/adapters/residual_rms_norm.hpp>
#include <zrt/backend/cpu/adapters/rms_norm.hpp>
#include <zrt/backend/cpu/adapters/rms_norm_fused_mlp_gate_up.hpp>
#include <zrt/backend/cpu/adapters/rms_norm_fused_qkv.hpp>
#include <zrt/backend/cpu/adapters/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/backend/cpu/adapters/rope.hpp>
#include <zrt/backend/cpu/adapters/sample.hpp>
#include <zrt/backend/cpu/adapters/softmax.hpp>
#include <zrt/backend/cpu/adapters/take.hpp>
#include <zrt/ops/arg_max.hpp>
#include <zrt/ops/attention.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/ops/compare.hpp>
#include <zrt/ops/concat.hpp>
#include <zrt/ops/cond.hpp>
#include <zrt/ops/dequantize.hpp>
#include <zrt/ops/dynamic_slice.hpp>
#include <zrt/ops/dynamic_update_slice.hpp>
#include <zrt/ops/extract_patches.hpp>
#include <zrt/ops/gather.hpp>
#include <zrt/ops/iota.hpp>
#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/pad.hpp>
#include <zrt/ops/quantize.hpp>
#include <zrt/ops/reduce_window.hpp>
#include <zrt/ops/requantize.hpp>
#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>
#include <zrt/ops/scan.hpp>
#include <zrt/ops/scatter_add.hpp>
#include <zrt/ops/scatter_reduce.hpp>
#include <zrt/ops/segment_reduce.hpp>
#include <zrt/ops/select.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/tile.hpp>
#include <zrt/ops/top_k.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/ops/while_loop.hpp>

#include <boost/mp11/list.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The ops that have an adapter.
using Claims = boost::mp11::mp_list<ops::RmsNorm, ops::Embedding, ops::ResidualAdd, ops::Linear, ops::RmsNormFusedQkv,
                                    ops::RmsNormFusedMlpGateUp, ops::Rope, ops::RmsNormFusedRopeKvWrite,
                                    ops::FlashAttnBatched, ops::ResidualRmsNorm, ops::LmHead, ops::Argmax, ops::Sample,
                                    ops::KvWriteBatched, ops::GatedAct, ops::Reshape, ops::Take, ops::Softmax>;

/// Attention of plain tensors, and the primitives that only the expansion of other fused ops would need. Macros are absent from both
/// lists: they run as what they expand to.
using Unsupported =
    boost::mp11::mp_list<ops::Constant, ops::ElementwiseUnary, ops::ElementwiseBinary, ops::Compare, ops::Select,
                         ops::Cast, ops::Reduce, ops::ArgMax, ops::DotGeneral, ops::BroadcastTo, ops::Slice,
                         ops::Concat, ops::Transpose, ops::Pad, ops::Tile, ops::Iota, ops::Gather, ops::ScatterAdd,
                         ops::ScatterReduce, ops::ReduceWindow, ops::ExtractPatches, ops::RngUniform, ops::RngNormal,
                         ops::TopK, ops::SegmentReduce, ops::Quantize, ops::Dequantize, ops::Requantize,
                         ops::DynamicSlice, ops::DynamicUpdateSlice, ops::LayerNorm, ops::Attention, ops::Clamp,
                         ops::Cond, ops::WhileLoop, ops::Scan>;

}  // namespace zrt::inline ZRT_ABI::cpu
