// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/gpt_oss.hpp: the gpt-oss family.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// gpt-oss: every other layer has a window, heads have sinks, all projections have biases, experts a clamped gate.
///
/// What files call the norm behind the attention is that before the experts.
struct GptOss {
  static constexpr std::array<std::string_view, 1> names{"gpt-oss"};
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = ExpertDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_decoder(meta, c, ops::RopeStyle::neox);
    expect_usual_scale(meta, c);
    read_window(meta, c, 0, 2);
    read_experts(meta, c, 0, {.gating = ops::Gating::softmax_selected});
    c.activation = Activation::swiglu_oai;
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_experts(canonical_decoder());
    c.window = 8;
    c.windowed = {1, 0};
    c.activation = Activation::swiglu_oai;
    return {c};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c,
                         {.qkv_bias = Has::always,
                          .output_bias = Has::always,
                          .sinks = Has::always,
                          .expert_bias = Has::always,
                          .mlp_norm = "post_attention_norm"});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
