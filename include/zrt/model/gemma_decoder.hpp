// SPDX-License-Identifier: Apache-2.0
// zrt/model/gemma_decoder.hpp: what the Gemma families have in common.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Reads a decoder with gelu-gated MLPs, embeddings scaled by the root of the width, and scores scaled by the inverse
/// root of the key length; in the model of `split_layers` layers, of the width over the heads.
///
/// The files' norm weights already hold the 1 that the paper adds.
inline void read_gemma(ConfigReader& meta, DecoderConfig& c, std::uint32_t split_layers) noexcept {
  read_decoder(meta, c, ops::RopeStyle::neox);
  c.activation = Activation::gelu_tanh;
  c.embedding_scale = static_cast<float>(root(c.width));
  // Files do not say the scale; their only sign is the number of layers.
  if (c.layers == split_layers) c.attention_scale = attention_scale(c.width / c.heads);
}

/// A small Gemma with a windowed and a full layer, for building at compile time.
[[nodiscard]] constexpr DecoderConfig canonical_gemma() noexcept {
  DecoderConfig c = canonical_decoder();
  c.activation = Activation::gelu_tanh;
  c.embedding_scale = static_cast<float>(root(c.width));
  c.window = 8;
  c.windowed = {1, 0};
  return c;
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
