// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/modern_bert.hpp: the modern-bert family.
#pragma once

#include <zrt/model/encoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// ModernBERT: norms before each block, a rotation, gated MLPs, and windows in all layers but each third.
struct ModernBert : EncoderFamily {
  static constexpr std::array<std::string_view, 1> names{"modern-bert"};
  using Ops = EncoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_encoder(meta, c);
    read_layer_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::neox);
    read_windows(meta, c);
    const std::string_view activation = meta.text("hidden_activation", "gelu");
    c.activation = activation == "silu" ? Activation::silu : Activation::gelu_tanh;
    if (activation != "silu" && activation != "gelu")
      meta.refuse(Errc::unimplemented, meta.name_of("hidden_activation").view(), " is ", activation,
                  ", expected gelu or silu");
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr EncoderTraits traits{.fused_qkv = true, .fused_gate_up = true, .turned = true};
    EncoderWriter<G> w(g, c, traits);
    w.set(w.normed(Name::of("token_embd_norm"), w.x()));
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      // The embedding's norm stands before the first layer.
      const auto read = layer == 0 ? w.x() : w.normed(layer, "attn_norm", w.x());
      w.set(w.sum(w.x(), w.attention(layer, read)));
      w.set(w.sum(w.x(), w.mlp(layer, w.normed(layer, "ffn_norm", w.x()), true)));
    }
    w.set(w.normed(Name::of("output_norm"), w.x()));
    (void)w.finish();
  }

 private:
  /// The first layer of a period sees everything.
  static void read_windows(ConfigReader& meta, Config& c) noexcept {
    constexpr std::uint32_t most = 1u << 30;
    c.window = meta.count_or_zero("attention.sliding_window", most, 0);
    c.windowed_rope.base = meta.number("rope.freq_base_swa", c.rope.base);
    constexpr std::string_view pattern = "attention.sliding_window_pattern";
    if (!meta.flag_per_layer(pattern, Span(c.windowed).first(c.layers))) {
      const std::uint32_t period = meta.count(pattern, most, 3);
      for (std::uint32_t layer = 0; layer < c.layers; ++layer) c.windowed[layer] = layer % period != 0 ? 1 : 0;
    }
    if (c.window == 0) c.windowed = {};
    if (c.window == 1) meta.refuse(Errc::invalid_metadata, "attention.sliding_window is 1, expected 0 or 2 and more");
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
