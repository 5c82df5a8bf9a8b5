// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/nemotron_h.hpp: the nemotron_h family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Nemotron H: each layer is one block: attention without a rotation where it has kv heads, an MLP with the squared relu
/// where it has a width for one, else a Mamba 2 mixer.
struct NemotronH {
  static constexpr std::array<std::string_view, 1> names{"nemotron_h"};
  using Config = SsmConfig;
  /// Files describe a rotation all the same.
  static constexpr auto neutral =
      neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({
                                        {"rope.dimension_count", Neutral::any},
                                        {"rope.freq_base", Neutral::any},
                                        {"rope.scale_linear", Neutral::any},
                                        {"rope.scaling.attn_factor", Neutral::any},
                                        {"rope.scaling.factor", Neutral::any},
                                        {"rope.scaling.original_context_length", Neutral::any},
                                        {"rope.scaling.type", Neutral::any},
                                    }));
  using Ops = boost::mp11::mp_push_back<DecoderOps, ops::MambaMixer>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_mlp(meta, c, 0);
    read_heads(meta, c, 0);
    read_norm(meta, c);
    c.rope.head_dim = c.windowed_rope.head_dim = c.key_dim;
    expect_no_window(meta, c);
    c.attention_scale = meta.scale("attention.scale", c.attention_scale);
    c.activation = Activation::relu2;
    read_ssm(meta, c.ssm, true);
  }

  /// A layer of each kind.
  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_ssm();
    c.layers = 3;
    c.kv_heads = {0, 2, 0};
    c.ff = {0, 0, 48};
    c.rope.n_rot = 0;
    return {c};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    DecoderWriter<G> w(g, c, kTraits);
    for (unsigned layer = 0; layer < c.layers; ++layer)
      w.add(layer, c.ff[layer] != 0 ? w.mlp(layer) : mixer(g, w, c, layer));
    w.finish();
  }

 protected:
  static constexpr DecoderTraits kTraits{.qkv_bias = Has::maybe,
                                         .output_bias = Has::maybe,
                                         .mlp_bias = Has::maybe,
                                         .mlp_norm = "attn_norm",
                                         .gated_mlp = false};

  /// A layer without a width for an MLP.
  template <class G>
  [[nodiscard]] static constexpr typename G::Tensor mixer(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer) {
    return c.kv_heads[layer] != 0 ? w.attention(layer) : mamba2(g, w, c, layer);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
