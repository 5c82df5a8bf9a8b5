// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/glm4moe.hpp: the glm4moe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// GLM 4.5: sigmoid gates with a bias for the choice; the norm before the MLP is named for what it follows.
struct Glm4Moe : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"glm4moe"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::neox);
    read_experts(meta, c, 0, {.gating = ops::Gating::sigmoid});
    read_shared_count(meta, c);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c,
                         {.qkv_bias = Has::maybe,
                          .qk_norm = Has::maybe,
                          .selection_bias = Has::always,
                          .mlp_norm = "post_attention_norm"});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
