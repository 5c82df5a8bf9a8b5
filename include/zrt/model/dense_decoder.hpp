// SPDX-License-Identifier: Apache-2.0
// zrt/model/dense_decoder.hpp: the transformer decoder of attention and MLP in every layer that many families share.
#pragma once

#include <zrt/model/decoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What families of the usual shape have in common. A family derives from it and states what it has of its own.
struct DenseFamily {
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = DecoderOps;

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_decoder()}; }
};

/// Writes the layers and the head of a decoder that `w` has begun; returns what DecoderWriter::finish does.
template <class Writer> constexpr auto finish_dense_decoder(Writer& w, const DecoderConfig& c, bool parallel) {
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    const auto attention = w.attention(layer);
    const auto beside = parallel ? w.mlp(layer) : typename Writer::Value{};
    w.add(layer, attention, "post_attention_norm.weight");
    w.add(layer, parallel ? beside : w.mlp(layer), "post_ffw_norm.weight");
  }
  return w.finish();
}

/// Writes the decoder: embedding, layers of attention and gated MLP around a residual stream, head.
template <NormKind kNorm = NormKind::rms, class G>
constexpr auto build_dense_decoder(G& g, const DecoderConfig& c, const DecoderTraits& traits) {
  DecoderWriter<G, kNorm> w(g, c, traits);
  return finish_dense_decoder(w, c, traits.parallel);
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
