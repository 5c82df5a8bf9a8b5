// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3moe.hpp: the qwen3moe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3 with experts: query and key heads are normalised before the rotation.
struct Qwen3Moe : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"qwen3moe"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::neox);
    read_experts(meta, c, 0, {.normalise = 1});
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c, {.qk_norm = Has::always});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
