// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/granitemoe.hpp: the granitemoe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>
#include <zrt/model/granite_scales.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Granite 3 with experts: embeddings, block outputs, scores and logits are scaled; every token may take one more expert.
struct GraniteMoe {
  static constexpr std::array<std::string_view, 1> names{"granitemoe"};
  using Config = DecoderConfig;
  static constexpr auto neutral = kGraniteNeutral;
  using Ops = ExpertDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_decoder(meta, c, ops::RopeStyle::interleaved);
    expect_no_window(meta, c);
    read_experts(meta, c, c.ff[0], {.normalise = 1});
    read_shared_expert(meta, c, 0);
    expect_rotated_heads(meta);
    read_granite_scales(meta, c);
  }

  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config shared = canonical_experts(canonical_decoder());
    shared.experts.shared_ff = 40;
    return {canonical_experts(canonical_decoder()), shared};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe, .rope_factors = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
