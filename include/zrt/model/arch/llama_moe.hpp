// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/llama_moe.hpp: the llama family with experts.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Llama with experts, as Mixtral has them.
struct LlamaMoe : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"llama"};
  static constexpr std::string_view which = "with experts";

  [[nodiscard]] static bool opens(const ConfigReader& meta) noexcept { return has_experts(meta); }

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::interleaved);
    read_experts(meta, c, c.ff[0], {.normalise = 1});
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe, .rope_factors = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
