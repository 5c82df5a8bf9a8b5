// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/glm4moe.hpp: the glm4moe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>
#include <zrt/model/rope_sections.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// GLM 4.5: sigmoid gates with a bias for the choice; the norm before the MLP is named for what it follows. The decoders
/// of models of images have sections of the rotation.
struct Glm4Moe : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"glm4moe"};
  struct Config : DecoderConfig {
    RopeSections sections{};
  };

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::neox);
    read_rope_sections(meta, c.sections);
    read_experts(meta, c, 0, {.gating = ops::Gating::sigmoid});
    read_shared_count(meta, c);
    expect_text(meta);
  }

  /// With pairs that do not turn, and without.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    const Config all{ExpertFamily::canonical()[0]};
    Config some = all;
    some.sections = {1, 1, 1, 1};
    return {all, some};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.qkv_bias = Has::maybe,
                                   .qk_norm = Has::maybe,
                                   .selection_bias = Has::always,
                                   .mlp_norm = "post_attention_norm"};
    DecoderWriter<G> w(g, c, traits);
    w.set_rope_factors(text_factors(g, c.sections, c.rope.n_rot / 2));
    finish_expert_decoder(w, c);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
