// SPDX-License-Identifier: Apache-2.0
// zrt/model/dense_decoder.hpp: the transformer decoder of attention and MLP in every layer that many families share.
#pragma once

#include <zrt/model/decoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Writes the decoder: embedding, layers of attention and gated MLP around a residual stream, head.
template <NormKind kNorm = NormKind::rms, class G>
constexpr void build_dense_decoder(G& g, const DecoderConfig& c, const DecoderTraits& traits) {
  DecoderWriter<G, kNorm> w(g, c, traits);
  for (unsigned layer = 0; layer < c.layers; ++layer) {
    const auto attention = w.attention(layer);
    const auto beside = traits.parallel ? w.mlp(layer) : typename G::Tensor{};
    w.add(layer, attention, "post_attention_norm.weight");
    w.add(layer, traits.parallel ? beside : w.mlp(layer), "post_ffw_norm.weight");
  }
  w.finish();
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
