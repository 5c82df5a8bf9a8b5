// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/starcoder2.hpp: the starcoder2 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// StarCoder 2: layer norms, plain MLPs, biases everywhere.
struct Starcoder2 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"starcoder2"};
  using Ops = LayerNormDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_layer_norm_decoder(meta, c, ops::RopeStyle::neox);
    c.activation = Activation::gelu_tanh;
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder<NormKind::layer>(g, c,
                                         {.qkv_bias = Has::maybe,
                                          .output_bias = Has::always,
                                          .mlp_bias = Has::always,
                                          .norm_bias = Has::always,
                                          .gated_mlp = false});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
