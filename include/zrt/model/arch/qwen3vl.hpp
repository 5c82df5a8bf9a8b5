// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3vl.hpp: the qwen3vl family.
#pragma once

#include <zrt/model/dense_decoder.hpp>
#include <zrt/model/rope_sections.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3 VL, text: Qwen 3 with a rotation of several position channels, which are one in text.
struct Qwen3Vl {
  static constexpr std::array<std::string_view, 1> names{"qwen3vl"};
  struct Config : DecoderConfig {
    RopeSections sections{};
  };
  /// Layers that take features of images, which text has none of.
  static constexpr auto neutral =
      neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({{"n_deepstack_layers", Neutral::any}}));
  using Ops = DecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::neox);
    read_rope_sections(meta, c.sections);
  }

  /// With pairs that do not turn, and without.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config some{canonical_decoder()};
    some.sections = {4, 2, 2, 0};
    return {Config{canonical_decoder()}, some};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.qk_norm = Has::always};
    DecoderWriter<G> w(g, c, traits);
    w.set_rope_factors(section_factors(g, c.sections, c.rope.n_rot / 2));
    finish_dense_decoder(w, c, false);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
