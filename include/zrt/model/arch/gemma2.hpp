// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/gemma2.hpp: the gemma2 family.
#pragma once

#include <zrt/model/gemma_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Gemma 2: every other layer has a window; scores and logits have caps.
struct Gemma2 {
  static constexpr std::array<std::string_view, 1> names{"gemma2"};
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = DecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    // The model of 27B has 46 layers.
    read_gemma(meta, c, 46);
    read_window(meta, c, 4096, 2);
    c.score_cap = meta.number_or_zero("attn_logit_softcapping", 50.0f);
    c.logit_cap = meta.number_or_zero("final_logit_softcapping", 30.0f);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_gemma();
    c.score_cap = 50.0f;
    c.logit_cap = 30.0f;
    return {c};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.post_norm = Has::always});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
