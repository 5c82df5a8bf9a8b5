// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/seed_oss.hpp: the seed_oss family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Seed-OSS: biases of queries, keys and values; the norm before the MLP is named for what it follows.
struct SeedOss : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"seed_oss"};

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::neox); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qkv_bias = Has::maybe, .mlp_norm = "post_attention_norm"});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
