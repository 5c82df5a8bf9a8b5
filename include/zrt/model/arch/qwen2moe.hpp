// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen2moe.hpp: the qwen2moe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 1.5 and 2 with experts: queries, keys and values have biases; every token takes one more expert under a gate.
struct Qwen2Moe : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"qwen2moe"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::neox);
    // A token's weights are those of the softmax over all experts.
    read_experts(meta, c, 0, {});
    read_shared_expert(meta, c, c.ff[0]);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c, {.qkv_bias = Has::always, .shared_router = Has::always});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
