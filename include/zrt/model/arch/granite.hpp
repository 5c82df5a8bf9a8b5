// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/granite.hpp: the granite family.
#pragma once

#include <zrt/model/dense_decoder.hpp>
#include <zrt/model/granite_scales.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Granite 3, dense: embeddings, block outputs, scores and logits are scaled.
struct Granite : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"granite"};
  static constexpr auto neutral = kGraniteNeutral;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_decoder(meta, c, ops::RopeStyle::interleaved);
    expect_no_window(meta, c);
    expect_rotated_heads(meta);
    read_granite_scales(meta, c);
    // Granite 4 without experts calls its MLP shared; feed_forward_length says the same.
    (void)meta.count_or_zero("expert_shared_feed_forward_length", 1u << 22, 0);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(
        g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe, .mlp_bias = Has::maybe, .rope_factors = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
