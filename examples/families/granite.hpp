// SPDX-License-Identifier: Apache-2.0
// examples/families/granite.hpp: the granite family, zrt's dense decoder with four more metadata keys.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

namespace host {

/// Granite 3, dense: llama with scaled embeddings, block outputs, attention scores and logits.
struct Granite {
  static constexpr std::array<std::string_view, 1> names{"granite"};  // general.architecture of the file
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  using Ops = zrt::model::DecoderOps;

  static void read(zrt::model::ConfigReader& meta, Config& c) noexcept {
    zrt::model::read_decoder(meta, c, zrt::ops::RopeStyle::interleaved);
    zrt::model::expect_no_window(meta, c);
    c.embedding_scale = meta.number("embedding_scale", 1.0f);
    c.residual_scale = meta.number("residual_scale", 1.0f);
    c.attention_scale = meta.number("attention.scale", c.attention_scale);
    c.logit_scale = 1.0f / meta.number("logit_scale", 1.0f);
  }

  /// Small models, for the check at compile time.
  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    return {zrt::model::canonical_decoder()};
  }

  template <class G> static constexpr void build(G& g, const Config& c) { zrt::model::build_dense_decoder(g, c, {}); }
};
static_assert(zrt::model::CheckArch<Granite>::kOk);

}  // namespace host
