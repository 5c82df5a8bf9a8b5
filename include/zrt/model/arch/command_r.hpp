// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/command_r.hpp: the command-r family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Command R: attention and MLP read the same layer norm, which has no bias. The models with norms of heads are refused.
struct CommandR : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"command-r"};
  using Ops = LayerNormDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_layer_norm_decoder(meta, c, ops::RopeStyle::interleaved);
    c.logit_scale = meta.number("logit_scale", 1.0f);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder<NormKind::layer>(g, c, {.qkv_bias = Has::maybe, .mlp_norm = "attn_norm", .parallel = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
