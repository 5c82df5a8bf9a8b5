// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/glm4.hpp: the glm4 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// GLM 4, dense: norms before and after each block, half of a head rotates, gate and up are fused.
struct Glm4 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"glm4"};

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::interleaved); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qkv_bias = Has::maybe, .post_norm = Has::always, .fused_gate_up = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
