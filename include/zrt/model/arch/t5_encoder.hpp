// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/t5_encoder.hpp: the t5encoder family.
#pragma once

#include <zrt/model/encoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// The encoder of T5: no positions but a bias of scores by distance, RMS norms, scores without a scale.
struct T5Encoder : EncoderFamily {
  static constexpr std::array<std::string_view, 1> names{"t5encoder"};
  using Ops = EncoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_encoder(meta, c);
    read_norm(meta, c);
    c.attention_scale = 1.0f;
    constexpr std::string_view buckets = "attention.relative_buckets_count";
    c.buckets = meta.count(buckets, 4096);
    if (!ops::buckets_fit(c.buckets, kBucketDistance))
      meta.refuse(Errc::invalid_metadata, meta.name_of(buckets).view(), " is ", c.buckets,
                  ", expected a multiple of 4 below ", 4 * kBucketDistance);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr EncoderTraits traits{.prefix = "enc.blk.", .attention_out = "attn_o"};
    EncoderWriter<G, NormKind::rms> w(g, c, traits);
    typename G::Weight first{};
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      auto bias =
          w.weight(layer, "attn_rel_b.weight", Shape{c.buckets, c.heads}, layer == 0 ? Has::always : Has::maybe);
      if (layer == 0) first = bias;
      if (!bias.present()) bias = first;
      w.set(w.sum(w.x(), w.attention(layer, w.normed(layer, "attn_norm", w.x()), bias)));
      w.set(w.sum(w.x(), mlp(w, c, layer)));
    }
    w.set(w.normed(Name::of("enc.output_norm"), w.x()));
    // A head that only a decoder reads.
    (void)g.optional_weight("output.weight", Shape{c.vocabulary, c.width});
    (void)w.finish();
  }

 private:
  /// Gated by gelu where files hold a gate, else with relu.
  template <class Writer> static constexpr auto mlp(Writer& w, const Config& c, unsigned layer) {
    const auto gate = w.weight(layer, "ffn_gate.weight", Shape{c.ff[layer], c.width}, Has::maybe);
    return w.mlp(layer, w.normed(layer, "ffn_norm", w.x()), gate,
                 gate.present() ? Activation::gelu_tanh : Activation::relu);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
