// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/ernie4_5_moe.hpp: the ernie4_5-moe family.
#pragma once

#include <zrt/model/expert_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// ERNIE 4.5 with experts in every layer after the first ones.
struct Ernie45Moe : ExpertFamily {
  static constexpr std::array<std::string_view, 1> names{"ernie4_5-moe"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::interleaved);
    meta.expect("interleave_moe_layer_step", "1", [](double x) { return x == 1.0; });
    read_experts(meta, c, 0, {.normalise = 1});
    read_shared_expert(meta, c, 0);
    // However many they are, files hold them as one.
    (void)meta.count_or_zero("expert_shared_count", 64, 0);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_expert_decoder(g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe, .selection_bias = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
