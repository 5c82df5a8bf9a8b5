// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/hunyuan_dense.hpp: the hunyuan-dense family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Hunyuan, dense: query and key heads are normalised after the rotation.
struct HunyuanDense : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"hunyuan-dense"};
  using Ops =
      boost::mp11::mp_append<DecoderOps, boost::mp11::mp_list<ops::RmsNormFusedQkv, ops::Rope, ops::KvWriteBatched,
                                                              ops::FlashAttnBatched, ops::Linear>>;

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::neox); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits;
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, attention(g, w, c, layer));
      w.add(layer, w.mlp(layer));
    }
    w.finish();
  }

 private:
  template <class G>
  static constexpr typename G::Tensor attention(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer) {
    const std::uint32_t kv_heads = c.kv_heads[layer];
    const auto matrix = [&](std::string_view name, std::uint32_t rows) {
      return w.weight(layer, name, Shape{rows, c.width});
    };
    const auto parts = g.template emit<ops::RmsNormFusedQkv>(
        {.in = {w.x()},
         .w = {w.weight(layer, "attn_norm.weight", Shape{c.width}), matrix("attn_q.weight", c.heads * c.key_dim),
               matrix("attn_k.weight", kv_heads * c.key_dim), matrix("attn_v.weight", kv_heads * c.value_dim)},
         .params = {.norm = {.eps = c.norm_eps, .dim = c.width}}});
    const auto turned = [&](auto x, std::string_view norm) {
      const auto y = g.template emit<ops::Rope>({.in = {x, w.positions()}, .params = c.rope})[0];
      return g.template emit<ops::RmsNorm>({.in = {y},
                                            .w = {w.weight(layer, norm, Shape{c.key_dim})},
                                            .params = {.eps = c.norm_eps, .dim = c.key_dim}})[0];
    };
    const auto query = turned(parts[0], "attn_q_norm.weight");
    const auto cache = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {kv_heads, c.key_dim, c.value_dim, 0}});
    (void)g.template emit<ops::KvWriteBatched>({.in = {turned(parts[1], "attn_k_norm.weight"), parts[2]},
                                                .state = cache,
                                                .params = {kv_heads, c.key_dim, c.value_dim}});
    const auto mixed = g.template emit<ops::FlashAttnBatched>({.in = {query},
                                                               .state = cache,
                                                               .params = {.heads = c.heads,
                                                                          .kv_heads = kv_heads,
                                                                          .key_dim = c.key_dim,
                                                                          .value_dim = c.value_dim,
                                                                          .scale = c.attention_scale}})[0];
    return g.template emit<ops::Linear>(
        {.in = {mixed}, .w = {w.weight(layer, "attn_output.weight", Shape{c.width, c.heads * c.value_dim}), {}}})[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
