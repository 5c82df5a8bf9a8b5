// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/nomic_bert.hpp: the nomic-bert family.
#pragma once

#include <zrt/model/encoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Nomic BERT: BERT with a rotation instead of positions, gated MLPs and no biases but those of norms.
struct NomicBert : EncoderFamily {
  static constexpr std::array<std::string_view, 1> names{"nomic-bert"};
  using Ops = EncoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_encoder(meta, c);
    read_layer_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::neox);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr EncoderTraits traits{.norm_bias = Has::always, .fused_qkv = true, .turned = true};
    EncoderWriter<G> w(g, c, traits);
    w.add_token_type();
    (void)finish_post_norm_encoder(w, c, [&](unsigned layer) { return w.mlp(layer, w.x(), true); });
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
