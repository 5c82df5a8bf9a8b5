// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/falcon_h1.hpp: the falcon-h1 family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Falcon H1: attention and a Mamba 2 mixer beside each other in every layer, then an MLP.
struct FalconH1 {
  static constexpr std::array<std::string_view, 1> names{"falcon-h1"};
  using Config = SsmConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = boost::mp11::mp_push_back<DecoderOps, ops::MambaMixer>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_mlp(meta, c);
    read_heads(meta, c);
    read_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::neox);
    expect_no_window(meta, c);
    c.attention_scale = meta.scale("attention.scale", c.attention_scale);
    read_ssm(meta, c.ssm, true);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_ssm()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.qkv_bias = Has::maybe, .mlp_bias = Has::maybe};
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      const auto attended = w.attention(layer);
      const auto mixed = mamba2(g, w, c, layer, Has::maybe);
      w.add(layer, attended);
      w.add(layer, mixed);
      // The name of this norm has no ending.
      w.add(layer, w.mlp(layer, {w.x(), w.weight(layer, "ffn_norm", Shape{c.width})}));
    }
    w.finish();
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
