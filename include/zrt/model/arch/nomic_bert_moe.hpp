// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/nomic_bert_moe.hpp: the nomic-bert-moe family.
#pragma once

#include <zrt/model/encoder_writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Nomic BERT with experts: BERT with a rotation instead of positions, and every so many layers experts without a gate in
/// place of the MLP.
struct NomicBertMoe : EncoderFamily {
  static constexpr std::array<std::string_view, 1> names{"nomic-bert-moe"};
  struct Config : EncoderConfig {
    std::uint32_t period = 1;  ///< layers 1, period + 1, 2 · period + 1, ... have experts, of a period of 1 none
  };
  using Ops = boost::mp11::mp_push_back<EncoderOps, ops::Moe>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_encoder(meta, c);
    read_layer_norm(meta, c);
    read_rope(meta, c, ops::RopeStyle::neox);
    read_experts(meta, c, c.ff[0], {});
    c.period = meta.count(kPeriod, 1u << 16);
    // As llama.cpp counts, of one layer in one none is the second.
    if (c.period == 1) meta.refuse(Errc::unimplemented, meta.name_of(kPeriod).view(), " is 1, expected 2 or more");
    if (c.experts.first_layer != 0)
      meta.refuse(Errc::unimplemented, meta.name_of("leading_dense_block_count").view(), " is ", c.experts.first_layer,
                  ", expected 0");
    c.activation = Activation::gelu_tanh;
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c{EncoderFamily::canonical()[0]};
    add_canonical_experts(c, 0);
    c.period = 2;
    return {c};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr EncoderTraits traits{.attention_bias = Has::maybe,
                                   .mlp_bias = Has::maybe,
                                   .norm_bias = Has::always,
                                   .fused_qkv = true,
                                   .turned = true};
    EncoderWriter<G> w(g, c, traits);
    w.add_token_type();
    (void)finish_post_norm_encoder(w, c, [&](unsigned layer) {
      return layer % c.period == 1 ? w.experts(layer, w.x()) : w.mlp(layer, w.x(), false);
    });
  }

 private:
  static constexpr std::string_view kPeriod = "moe_every_n_layers";
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
