// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/gemma3.hpp: the gemma3 family.
#pragma once

#include <zrt/model/gemma_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Gemma 3, text: five of six layers have a window and a rotation of their own; heads are normalised before it.
struct Gemma3 {
  static constexpr std::array<std::string_view, 1> names{"gemma3"};
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = DecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    // The model of 27B has 62 layers.
    read_gemma(meta, c, 62);
    read_window(meta, c, 0, 6);
    // Windowed layers rotate by a base of their own, unscaled.
    c.windowed_rope = {.head_dim = c.rope.head_dim,
                       .n_rot = c.rope.n_rot,
                       .base = meta.number("rope.freq_base_swa", 10000.0f),
                       .style = c.rope.style};
    c.logit_cap = meta.number_or_zero("final_logit_softcapping", 0.0f);
  }

  /// With and without a cap of logits.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config capped = canonical_gemma();
    capped.logit_cap = 30.0f;
    return {canonical_gemma(), capped};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qk_norm = Has::always, .post_norm = Has::always});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
