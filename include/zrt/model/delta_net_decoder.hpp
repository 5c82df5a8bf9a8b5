// SPDX-License-Identifier: Apache-2.0
// zrt/model/delta_net_decoder.hpp: the decoder of gated delta rules and gated attention that several families share.
#pragma once

#include <zrt/model/delta_net_block.hpp>
#include <zrt/model/gated_attention.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// A decoder of such layers.
struct DeltaNetConfig : SsmConfig {
  std::uint32_t attention_period = 4;  ///< each layer whose number from 1 is a multiple has attention
  RopeSections sections{};
};

/// The ops of such a decoder, without those of its MLPs or experts.
using DeltaNetOps = boost::mp11::mp_push_back<GatedAttentionOps, ops::GatedDeltaNet>;

/// Reads all but the experts.
inline void read_delta_net_decoder(ConfigReader& meta, DeltaNetConfig& c) noexcept {
  read_sizes(meta, c);
  read_mlp(meta, c);
  read_heads(meta, c);
  read_norm(meta, c);
  read_rope(meta, c, ops::RopeStyle::neox);
  expect_plain_attention(meta, c);
  if (c.value_dim != c.key_dim)
    meta.refuse(Errc::invalid_metadata, meta.name_of("attention.value_length").view(), " is ", c.value_dim,
                ", expected the key length, ", c.key_dim);
  c.attention_period = meta.count("full_attention_interval", kMaxLayers, 4);
  read_rope_sections(meta, c.sections);
  read_ssm(meta, c.ssm, true);
}

/// A small decoder with attention in the second layer.
[[nodiscard]] constexpr DeltaNetConfig canonical_delta_net() noexcept {
  DeltaNetConfig c;
  static_cast<SsmConfig&>(c) = canonical_ssm();
  c.attention_period = 2;
  return c;
}
/// What families of such decoders with experts have in common: a token's weights sum to 1, and one more expert is
/// shared, under a gate.
struct DeltaNetExperts {
  using Config = DeltaNetConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = boost::mp11::mp_append<ExpertDecoderOps, DeltaNetOps>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_delta_net_decoder(meta, c);
    read_experts(meta, c, 0, {.normalise = 1});
    read_shared_expert(meta, c, 0);
  }
  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_delta_net();
    add_canonical_experts(c);
    c.experts.shared_ff = 40;
    return {c};
  }
};

/// Writes the decoder, with experts or MLPs. What files call the norm behind the attention is that before these.
template <bool kExperts, class G>
constexpr void build_delta_net_decoder(G& g, const DeltaNetConfig& c, const DeltaNetTraits& mixer) {
  constexpr DecoderTraits traits{.shared_router = Has::always, .mlp_norm = "post_attention_norm"};
  DecoderWriter<G> w(g, c, traits);
  const auto factors = section_factors(g, c.sections, c.rope.n_rot / 2);
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    const bool attends = (layer + 1) % c.attention_period == 0;
    w.add(layer, attends ? gated_attention(g, w, c, factors, layer) : delta_net(g, w, c, mixer, layer));
    if constexpr (kExperts)
      w.add(layer, w.experts(layer));
    else
      w.add(layer, w.mlp(layer));
  }
  w.finish();
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
