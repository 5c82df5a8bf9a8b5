// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/lfm2.hpp: the lfm2 family.
#pragma once

#include <zrt/model/decoder_writer.hpp>
#include <zrt/ops/shortconv.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// LFM2: short convolutions, attention in the layers that have kv heads, an MLP or experts in each.
struct Lfm2 {
  static constexpr std::array<std::string_view, 2> names{"lfm2", "lfm2moe"};
  struct Config : DecoderConfig {
    std::uint32_t taps = 0;  ///< of the convolutions
  };
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = boost::mp11::mp_push_back<ExpertDecoderOps, ops::Shortconv>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_mlp(meta, c);
    read_heads(meta, c, 0);
    read_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::neox);
    expect_usual_scale(meta, c);
    expect_no_window(meta, c);
    c.taps = meta.count("shortconv.l_cache", ops::SsmConv1d::kMaxTaps);
    if (has_experts(meta)) read_experts(meta, c, 0, {.normalise = 1});
  }

  /// With attention in the second layer, and with experts there.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config c;
    static_cast<DecoderConfig&>(c) = canonical_decoder();
    c.kv_heads = {0, 2};
    c.taps = 3;
    Config experts = c;
    add_canonical_experts(experts, 1);
    return {c, experts};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    // The norm before the head has the name that elsewhere is of one behind the embedding.
    constexpr DecoderTraits traits{
        .qk_norm = Has::always, .selection_bias = Has::always, .output_norm = "token_embd_norm"};
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, c.kv_heads[layer] == 0 ? shortconv(g, w, c, layer) : w.attention(layer));
      const bool dense = c.experts.count == 0 || layer < c.experts.first_layer;
      w.add(layer, dense ? w.mlp(layer) : w.experts(layer));
    }
    w.finish();
  }

 private:
  template <class G>
  [[nodiscard]] static constexpr typename G::Tensor shortconv(G& g, DecoderWriter<G>& w, const Config& c,
                                                              unsigned layer) {
    const auto rows = [&](std::uint32_t part) {
      return w.weight(layer, TensorRows::name("shortconv.in_proj.weight", part * c.width, c.width, 3 * c.width).view(),
                      Shape{c.width, c.width});
    };
    ops::ShortconvParams p;
    p.norm_eps = c.norm_eps;
    p.conv.state.total = (c.taps - 1) * c.width;
    return g.template emit<ops::Shortconv>(
        {.in = {w.x()},
         .w = {w.weight(layer, "attn_norm.weight", Shape{c.width}),
               rows(0),
               rows(1),
               rows(2),
               w.weight(layer, "shortconv.conv.weight", Shape{c.width, c.taps}),
               {},
               w.weight(layer, "shortconv.out_proj.weight", Shape{c.width, c.width})},
         .state = g.state(recurrent_block(p.conv.state.total)),
         .params = p})[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
