// SPDX-License-Identifier: Apache-2.0
// zrt/model/gated_attention.hpp: attention whose output every head gates, with its gate beside its query.
#pragma once

#include <zrt/model/decoder_writer.hpp>
#include <zrt/model/rope_sections.hpp>
#include <zrt/ops/head_columns.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// The ops that `gated_attention` emits.
using GatedAttentionOps = boost::mp11::mp_list<ops::RmsNormFusedQkv, ops::HeadColumns, ops::RmsNormFusedRopeKvWrite,
                                               ops::FlashAttnBatched, ops::Linear>;

/// Attention over the stream: attn_q holds query and gate of each head, heads are normalised before the rotation, and
/// their outputs times sigmoid(gate) are projected. Keys are as long as values.
template <class G>
[[nodiscard]] constexpr typename G::Tensor gated_attention(G& g, DecoderWriter<G>& w, const DecoderConfig& c,
                                                           typename G::Weight factors, unsigned layer) {
  const std::uint32_t kv_heads = c.kv_heads[layer];
  const std::uint32_t dim = c.key_dim;
  const auto cache = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {kv_heads, dim, dim, 0}});
  const auto parts =
      g.template emit<ops::RmsNormFusedQkv>({.in = {w.x()},
                                             .w = {w.weight(layer, "attn_norm.weight", Shape{c.width}),
                                                   w.weight(layer, "attn_q.weight", Shape{2 * c.heads * dim, c.width}),
                                                   w.weight(layer, "attn_k.weight", Shape{kv_heads * dim, c.width}),
                                                   w.weight(layer, "attn_v.weight", Shape{kv_heads * dim, c.width})},
                                             .params = {.norm = {.eps = c.norm_eps, .dim = c.width}}});
  const auto query = g.template emit<ops::HeadColumns>({.in = {parts[0]}, .params = {c.heads, 2 * dim, 0, dim}})[0];
  const auto turned = g.template emit<ops::RmsNormFusedRopeKvWrite>(
      {.in = {query, parts[1], parts[2], w.positions()},
       .w = {w.weight(layer, "attn_q_norm.weight", Shape{dim}), w.weight(layer, "attn_k_norm.weight", Shape{dim}),
             factors},
       .state = cache,
       .params = {.eps = c.norm_eps, .kv = {kv_heads, dim, dim}, .rope = c.rope}})[0];
  const auto mixed = g.template emit<ops::FlashAttnBatched>(
      {.in = {turned},
       .state = cache,
       .params = {
           .heads = c.heads, .kv_heads = kv_heads, .key_dim = dim, .value_dim = dim, .scale = c.attention_scale}})[0];
  const auto gated =
      g.template emit<ops::HeadColumns>({.in = {parts[0], mixed}, .params = {c.heads, 2 * dim, dim, dim}})[0];
  return g.template emit<ops::Linear>(
      {.in = {gated}, .w = {w.weight(layer, "attn_output.weight", Shape{c.width, c.heads * dim})}})[0];
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
