// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/olmo2.hpp: the olmo2 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// OLMo 2 and 3: norms behind the blocks, queries and keys normalised over all their heads, and in OLMo 3 windows in
/// three of four layers.
struct Olmo2 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"olmo2"};
  using Ops =
      boost::mp11::mp_append<DecoderOps,
                             boost::mp11::mp_list<ops::Linear, ops::RmsNormFusedRopeKvWrite, ops::FlashAttnBatched>>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_decoder(meta, c, ops::RopeStyle::neox);
    expect_usual_scale(meta, c);
    if (!meta.has("attention.sliding_window")) return;
    read_window(meta, c, 0, 4);
    // The scaling of long contexts is of the layers that see them.
    c.windowed_rope.scaling = ops::RopeScaling::none;
    c.windowed_rope.factor = c.windowed_rope.magnitude = 1.0f;
    meta.expect("rope.freq_base_swa", "rope.freq_base",
                [&](double x) { return x == static_cast<double>(c.rope.base); });
  }

  /// Without and with windows.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config windowed = canonical_decoder();
    windowed.window = 8;
    windowed.windowed = {1, 0};
    return {canonical_decoder(), windowed};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.post_norm = Has::always, .mlp_norm = {}};
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, attention(g, w, c, layer), "post_attention_norm.weight");
      w.add(layer, w.mlp(layer), "post_ffw_norm.weight");
    }
    w.finish();
  }

 private:
  template <class G>
  static constexpr typename G::Tensor attention(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer) {
    const std::uint32_t kv_heads = c.kv_heads[layer];
    const bool windowed = c.windowed[layer] != 0;
    const auto projected = [&](std::string_view name, std::uint32_t rows) {
      return g.template emit<ops::Linear>({.in = {w.x()}, .w = {w.weight(layer, name, Shape{rows, c.width})}})[0];
    };
    const auto normed = [&](auto x, std::string_view name, std::uint32_t width) {
      return g.template emit<ops::RmsNorm>(
          {.in = {x}, .w = {w.weight(layer, name, Shape{width})}, .params = {.eps = c.norm_eps, .dim = width}})[0];
    };
    const std::uint32_t q_rows = c.heads * c.key_dim;
    const std::uint32_t k_rows = kv_heads * c.key_dim;
    const auto q = normed(projected("attn_q.weight", q_rows), "attn_q_norm.weight", q_rows);
    const auto k = normed(projected("attn_k.weight", k_rows), "attn_k_norm.weight", k_rows);
    const auto v = projected("attn_v.weight", kv_heads * c.value_dim);
    const auto cache = g.state(kv_state(c, layer, kv_heads, c.key_dim, c.value_dim));
    const auto turned = g.template emit<ops::RmsNormFusedRopeKvWrite>(
        {.in = {q, k, v, w.positions()},
         .state = cache,
         .params = {.kv = {kv_heads, c.key_dim, c.value_dim}, .rope = windowed ? c.windowed_rope : c.rope}})[0];
    const auto mixed = g.template emit<ops::FlashAttnBatched>({.in = {turned},
                                                               .state = cache,
                                                               .params = {.heads = c.heads,
                                                                          .kv_heads = kv_heads,
                                                                          .key_dim = c.key_dim,
                                                                          .value_dim = c.value_dim,
                                                                          .scale = c.attention_scale,
                                                                          .window = windowed ? c.window : 0}})[0];
    return g.template emit<ops::Linear>(
        {.in = {mixed}, .w = {w.weight(layer, "attn_output.weight", Shape{c.width, c.heads * c.value_dim})}})[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
