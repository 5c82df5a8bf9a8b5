// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/glm4.hpp: the glm4 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>
#include <zrt/model/rope_sections.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// GLM 4, dense: norms before and after each block, half of a head rotates, gate and up are fused. The decoders of models
/// of images have sections of the rotation, and turn values half of it apart.
struct Glm4 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"glm4"};
  struct Config : DecoderConfig {
    RopeSections sections{};
  };

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_rope_sections(meta, c.sections);
    const bool of_images = c.sections != RopeSections{};
    read_plain_decoder(meta, c, of_images ? ops::RopeStyle::neox : ops::RopeStyle::interleaved);
    expect_text(meta);
  }

  /// With pairs that do not turn, and without.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    const Config all{canonical_decoder()};
    Config some = all;
    some.sections = {1, 1, 1, 1};
    return {all, some};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.qkv_bias = Has::maybe, .post_norm = Has::always, .fused_gate_up = true};
    DecoderWriter<G> w(g, c, traits);
    w.set_rope_factors(text_factors(g, c.sections, c.rope.n_rot / 2));
    finish_dense_decoder(w, c, false);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
