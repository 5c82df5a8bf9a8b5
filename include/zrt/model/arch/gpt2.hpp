// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/gpt2.hpp: the gpt2 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// GPT-2: layer norms, learned positions instead of a rotation, plain MLPs, biases everywhere.
struct Gpt2 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"gpt2"};
  /// Masks, which older files hold.
  static constexpr std::array<std::string_view, 2> ignored_tensors{"attn.bias", "attn.masked_bias"};
  using Ops = LayerNormDecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_mlp(meta, c);
    read_heads(meta, c);
    read_layer_norm(meta, c);
    expect_plain_attention(meta, c);
    c.rope.head_dim = c.key_dim;
    c.activation = Activation::gelu_tanh;
    if (c.positions > c.context)
      meta.refuse(Errc::invalid_argument, "a slot of ", c.positions, " positions is asked for, the model has ",
                  c.context);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_decoder();
    c.rope.n_rot = 0;
    return {c};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder<NormKind::layer>(g, c,
                                         {.qkv_bias = Has::always,
                                          .output_bias = Has::always,
                                          .mlp_bias = Has::always,
                                          .norm_bias = Has::always,
                                          .learned_positions = true,
                                          .gated_mlp = false,
                                          .fused_qkv = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
