// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/modern_bert.hpp: the modern-bert family.
#pragma once

#include <zrt/model/encoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// ModernBERT: norms before each block, a rotation, gated MLPs, windows in all layers but each third, and in files of
/// rerankers a classification head on the mean of a text.
struct ModernBert : EncoderFamily {
  static constexpr std::array<std::string_view, 1> names{"modern-bert"};
  /// Its norms are layer norms, whose epsilon has a key of its own.
  static constexpr auto neutral =
      neutral_keys(kEncoderNeutral, std::to_array<NeutralKey>({{"attention.layer_norm_rms_epsilon", Neutral::any}}));
  using Ops = boost::mp11::mp_push_back<EncoderOps, ops::GatedAct>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_encoder(meta, c);
    read_layer_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::neox);
    read_windows(meta, c);
    read_activation(meta, c);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr EncoderTraits traits{.fused_qkv = true, .fused_gate_up = true, .turned = true};
    EncoderWriter<G> w(g, c, traits);
    w.set(w.normed(Name::of("token_embd_norm"), w.x()));
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      // The embedding's norm stands before the first layer, which mostly has none of its own.
      const auto read = w.normed(layer, "attn_norm", w.x(), layer == 0 ? Has::maybe : Has::always);
      w.set(w.sum(w.x(), w.attention(layer, read)));
      w.set(w.sum(w.x(), w.mlp(layer, w.normed(layer, "ffn_norm", w.x()), true)));
    }
    w.set(w.normed(Name::of("output_norm"), w.x()));
    (void)w.finish();
    classify(g, w, c);
  }

 private:
  /// As far as the file holds a head: a layer, gelu, a norm, then the labels.
  template <class G> static constexpr void classify(G& g, EncoderWriter<G>& w, const Config& c) {
    const auto dense = w.tensor("cls.weight", Shape{c.width, c.width}, Has::maybe);
    const auto out = w.tensor("cls.output.weight", Shape{c.labels, c.width}, Has::maybe);
    if (!dense.present() && !out.present()) return;
    auto rows = w.means();
    const auto linear = [&](auto weight, auto bias) {
      return g.template emit<ops::Linear>({.in = {rows}, .w = {weight, bias}})[0];
    };
    if (dense.present()) {
      rows = g.template emit<ops::GatedAct>(
          {.in = {linear(dense, typename G::Weight{}), {}}, .params = {Activation::gelu_tanh}})[0];
      rows = w.normed(Name::of("cls.norm"), rows, Has::maybe);
    }
    if (out.present()) rows = linear(out, w.tensor("cls.output.bias", Shape{c.labels}, Has::maybe));
    g.output("scores", rows);
  }

  /// The gelu of llama.cpp, whose files these are, is the one by tanh.
  static void read_activation(ConfigReader& meta, Config& c) noexcept {
    constexpr std::string_view key = "hidden_activation";
    const std::string_view name = meta.text(key, "gelu");
    const bool silu = name == "silu" || name == "swish" || name == "swiglu";
    c.activation = silu ? Activation::silu : Activation::gelu_tanh;
    if (!silu && name != "gelu" && name != "geglu" && name != "gelu_pytorch_tanh")
      meta.refuse(Errc::unimplemented, meta.name_of(key).view(), " is ", name, ", expected gelu or silu");
  }

  /// The first layer of a period sees everything.
  static void read_windows(ConfigReader& meta, Config& c) noexcept {
    constexpr std::uint32_t most = 1u << 30;
    c.window = meta.count_or_zero("attention.sliding_window", most, 0);
    c.windowed_rope.base = meta.number("rope.freq_base_swa", 10000.0f);
    // Interpolation is for layers that see whole texts.
    if (c.windowed_rope.scaling == ops::RopeScaling::linear) c.windowed_rope.scaling = ops::RopeScaling::none;
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
