// SPDX-License-Identifier: Apache-2.0
// zrt/model/expert_decoder.hpp: the transformer decoder whose layers have experts in place of the MLP.
#pragma once

#include <zrt/model/decoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What families of the usual shape have in common. A family derives from it and states what it has of its own.
struct ExpertFamily {
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = ExpertDecoderOps;

  /// With a shared expert, and a layer without experts.
  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_experts(canonical_decoder(), 1);
    c.experts.shared_ff = 40;
    return {c};
  }
};

/// Writes the layers and the head of a decoder that `w` has begun: attention and experts, in the first layers an MLP
/// where the config says so.
template <class Writer> constexpr void finish_expert_decoder(Writer& w, const DecoderConfig& c) {
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    w.add(layer, w.attention(layer), "post_attention_norm.weight");
    w.add(layer, layer < c.experts.first_layer ? w.mlp(layer) : w.experts(layer), "post_ffw_norm.weight");
  }
  w.finish();
}

/// Writes the decoder: embedding, layers around a residual stream, head.
template <class G> constexpr void build_expert_decoder(G& g, const DecoderConfig& c, const DecoderTraits& traits) {
  DecoderWriter<G> w(g, c, traits);
  finish_expert_decoder(w, c);
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
