// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/stablelm.hpp: the stablelm family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// StableLM 1 and 2: layer norms, a part of each head rotates. The models with norms of heads are refused.
struct StableLm {
  static constexpr std::array<std::string_view, 1> names{"stablelm"};

  struct Config : DecoderConfig {
    bool parallel = false;  ///< the MLP reads what attention reads
  };

  static constexpr auto neutral = kDecoderNeutral;
  using Ops = LayerNormDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_layer_norm_decoder(meta, c, ops::RopeStyle::neox);
    // What files say of it is not so: the tensors tell.
    (void)meta.flag("use_parallel_residual", false);
    c.parallel = meta.file().find_tensor("blk.0.ffn_norm.weight") == nullptr;
  }

  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config parallel{canonical_decoder()};
    parallel.parallel = true;
    return {Config{canonical_decoder()}, parallel};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder<NormKind::layer>(g, c,
                                         {.qkv_bias = Has::maybe,
                                          .norm_bias = Has::always,
                                          .mlp_norm = c.parallel ? "attn_norm" : "ffn_norm",
                                          .parallel = c.parallel});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
