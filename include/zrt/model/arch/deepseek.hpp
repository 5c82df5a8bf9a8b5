// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/deepseek.hpp: the deepseek family.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// DeepSeek MoE, the first: experts after the first layers, and one more that every token takes.
struct Deepseek : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"deepseek"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::interleaved);
    read_experts(meta, c, 0, {});
    read_shared_count(meta, c);
  }

  template <class G> static constexpr void build(G& g, const Config& c) { build_expert_decoder(g, c, {}); }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
