// SPDX-License-Identifier: Apache-2.0
// examples/families/minicpm.hpp: the minicpm family, zrt's dense decoder with three more metadata keys.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

namespace host {

/// MiniCPM: llama with scaled embeddings, block outputs and logits.
struct MiniCpm {
  static constexpr std::array<std::string_view, 1> names{"minicpm"};  // general.architecture of the file
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  using Ops = zrt::model::DecoderOps;

  static void read(zrt::model::ConfigReader& meta, Config& c) noexcept {
    zrt::model::read_plain_decoder(meta, c, zrt::ops::RopeStyle::interleaved);
    c.embedding_scale = meta.number("embedding_scale");
    c.residual_scale = meta.number("residual_scale");
    c.logit_scale = 1.0f / meta.number("logit_scale");
  }

  /// Small models, for the check at compile time.
  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    return {zrt::model::canonical_decoder()};
  }

  template <class G> static constexpr void build(G& g, const Config& c) { zrt::model::build_dense_decoder(g, c, {}); }
};
static_assert(zrt::model::CheckArch<MiniCpm>::kOk);

}  // namespace host
