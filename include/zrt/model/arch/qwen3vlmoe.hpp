// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3vlmoe.hpp: the qwen3vlmoe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>
#include <zrt/model/rope_sections.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3 VL with experts, text: Qwen 3 with experts and a rotation of several position channels, which are one in text.
struct Qwen3VlMoe {
  static constexpr std::array<std::string_view, 1> names{"qwen3vlmoe"};
  struct Config : DecoderConfig {
    RopeSections sections{};
  };
  /// Layers that take features of images, which text has none of.
  static constexpr auto neutral =
      neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({{"n_deepstack_layers", Neutral::any}}));
  using Ops = ExpertDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::neox);
    read_rope_sections(meta, c.sections);
    read_experts(meta, c, 0, {.normalise = 1});
    expect_text(meta);
  }

  /// With pairs that do not turn, and without.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    const Config all{canonical_experts(canonical_decoder(), 1)};
    Config some = all;
    some.sections = {4, 2, 2, 0};
    return {all, some};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.qk_norm = Has::always};
    DecoderWriter<G> w(g, c, traits);
    w.set_rope_factors(section_factors(g, c.sections, c.rope.n_rot / 2));
    finish_expert_decoder(w, c);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
