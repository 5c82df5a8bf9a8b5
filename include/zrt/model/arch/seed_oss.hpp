// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/seed_oss.hpp: the seed_oss family.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Seed-OSS: biases of queries, keys and values; the norm before the MLP is named for what it follows.
struct SeedOss {
  static constexpr std::array<std::string_view, 1> names{"seed_oss"};
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = DecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::neox); }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_decoder()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qkv_bias = Has::maybe, .mlp_norm = "post_attention_norm"});
  }
};
static_assert(CheckArch<SeedOss>::kOk);

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
