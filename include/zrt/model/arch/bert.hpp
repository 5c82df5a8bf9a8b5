// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/bert.hpp: the bert family.
#pragma once

#include <zrt/model/encoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// BERT: learned positions, norms behind the sum of each block, and a classification head in files of rerankers.
struct Bert : EncoderFamily {
  static constexpr std::array<std::string_view, 1> names{"bert"};
  using Ops = EncoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_encoder(meta, c);
    read_layer_norm(meta, c);
    expect_learned_positions(meta, c);
    c.activation = Activation::gelu_tanh;
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr EncoderTraits traits{.attention_bias = Has::maybe, .mlp_bias = Has::maybe, .norm_bias = Has::always};
    EncoderWriter<G> w(g, c, traits);
    w.add_token_type();
    w.add_learned_positions();
    w.classify(finish_post_norm_encoder(w, c, [&](unsigned layer) { return w.mlp(layer, w.x(), false); }));
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
