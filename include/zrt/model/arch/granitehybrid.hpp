// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/granitehybrid.hpp: the granitehybrid family.
#pragma once

#include <zrt/model/granite_scales.hpp>
#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Granite 4: Mamba 2 mixers, attention in the layers that have kv heads, an MLP or experts in each.
struct GraniteHybrid {
  static constexpr std::array<std::string_view, 1> names{"granitehybrid"};
  using Config = SsmConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = boost::mp11::mp_push_back<ExpertDecoderOps, ops::MambaMixer>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_mlp(meta, c);
    read_heads(meta, c, 0);
    read_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::interleaved);
    // The key that elsewhere says how the scaling was trained turns the rotation off.
    if (!meta.flag("rope.scaling.finetuned", true)) c.rope.n_rot = c.windowed_rope.n_rot = 0;
    expect_no_window(meta, c);
    read_granite_scales(meta, c);
    read_ssm(meta, c.ssm, true);
    // Files without experts say how wide the shared one would be.
    read_shared_expert(meta, c, 0);
    if (has_experts(meta)) read_experts(meta, c, c.ff[0], {.normalise = 1});
  }

  /// With attention in the second layer, rotated and not, and with experts.
  [[nodiscard]] static constexpr std::array<Config, 3> canonical() noexcept {
    Config rotated = canonical_ssm();
    rotated.kv_heads = {0, 2};
    Config plain = rotated;
    plain.rope.n_rot = 0;
    Config experts = plain;
    add_canonical_experts(experts);
    return {rotated, plain, experts};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits;
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, c.kv_heads[layer] == 0 ? mamba2(g, w, c, layer) : w.attention(layer));
      w.add(layer, c.experts.count == 0 ? w.mlp(layer) : w.experts(layer));
    }
    w.finish();
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
