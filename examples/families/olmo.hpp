// SPDX-License-Identifier: Apache-2.0
// examples/families/olmo.hpp: the olmo family, added by a host in one header of its own with the host's pre-tokenizer.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>
#include <zrt/ops/clamp.hpp>
#include <zrt/text/pre_tokenizers.hpp>

namespace host {

/// OLMo 1: as llama, but its layer norms have no weights, and queries, keys and values may be clamped.
struct Olmo {
  static constexpr std::array<std::string_view, 1> names{"olmo"};  // general.architecture of the file
  struct Config : zrt::model::DecoderConfig {
    float clamp = 0;  ///< queries, keys and values lie in [-clamp, clamp]; 0: anywhere
  };
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  /// Every op that `build` emits.
  using Ops = boost::mp11::mp_list<zrt::ops::Embedding, zrt::ops::LayerNorm, zrt::ops::Linear, zrt::ops::Clamp,
                                   zrt::ops::RmsNormFusedRopeKvWrite, zrt::ops::FlashAttnBatched, zrt::ops::Swiglu,
                                   zrt::ops::ResidualAdd, zrt::ops::Take, zrt::ops::LmHead, zrt::ops::Constant,
                                   zrt::ops::BroadcastTo>;

  static void read(zrt::model::ConfigReader& meta, Config& c) noexcept {
    zrt::model::read_layer_norm_decoder(meta, c, zrt::ops::RopeStyle::interleaved);
    c.clamp = meta.number_or_zero("attention.clamp_kqv", 0.0f);
  }

  /// Small models, for the check at compile time: one without the clamp and one with it.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    const Config plain{zrt::model::canonical_decoder()};
    Config clamped = plain;
    clamped.clamp = 8.0f;
    return {plain, clamped};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    using namespace zrt;
    const Dim tokens(1, g.symbol("tokens", 0));
    const Dim rows(1, g.symbol("rows", 0));
    const auto ids = g.input("tokens", {DType::si32, Shape{tokens}});
    const auto positions = g.input("positions", {DType::si32, Shape{tokens}});
    const auto wanted = g.input("rows", {DType::si32, Shape{rows}});
    const auto table = g.weight("token_embd.weight", Shape{c.vocabulary, c.width});
    const decltype(table) no_norm{};

    const auto filled = [&](float value, const Shape& shape) {
      const auto one = g.template emit<ops::Constant>({.in = {}, .w = {g.constant({&value, 1})}})[0];
      return g.template emit<ops::BroadcastTo>({.in = {one}, .params = {ShapeParams::of(shape)}})[0];
    };
    const auto scale = filled(1.0f, Shape{c.width});
    const auto shift = filled(0.0f, Shape{c.width});
    const auto norm = [&](auto x) {
      return g.template emit<ops::LayerNorm>(
          {.in = {x, scale, shift}, .params = {.epsilon = static_cast<double>(c.norm_eps), .feature_axis = 1}})[0];
    };
    const auto linear = [&](auto x, auto weight) {
      return g.template emit<ops::Linear>({.in = {x}, .w = {weight}})[0];
    };

    auto x = g.template emit<ops::Embedding>({.in = {ids}, .w = {table}})[0];
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      const auto w = [&](std::string_view name, const Shape& shape) {
        return g.weight(Name::of("blk.", layer, ".", name), shape);
      };
      const std::uint32_t kv_heads = c.kv_heads[layer];
      const std::uint32_t ff = c.ff[layer];
      const auto cache = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {kv_heads, c.key_dim, c.value_dim, 0}});
      const auto normed = norm(x);
      const auto projected = [&](std::string_view name, std::uint32_t width) {
        const auto y = linear(normed, w(name, Shape{width, c.width}));
        if (c.clamp == 0) return y;
        const Shape shape{tokens, width};
        return g.template emit<ops::Clamp>({.in = {y, filled(-c.clamp, shape), filled(c.clamp, shape)}})[0];
      };
      const auto q = projected("attn_q.weight", c.heads * c.key_dim);
      const auto k = projected("attn_k.weight", kv_heads * c.key_dim);
      const auto v = projected("attn_v.weight", kv_heads * c.value_dim);
      const auto turned = g.template emit<ops::RmsNormFusedRopeKvWrite>(
          {.in = {q, k, v, positions},
           .state = cache,
           .params = {.kv = {kv_heads, c.key_dim, c.value_dim}, .rope = c.rope}})[0];
      const auto mixed = g.template emit<ops::FlashAttnBatched>({.in = {turned},
                                                                 .state = cache,
                                                                 .params = {.heads = c.heads,
                                                                            .kv_heads = kv_heads,
                                                                            .key_dim = c.key_dim,
                                                                            .value_dim = c.value_dim,
                                                                            .scale = c.attention_scale}})[0];
      const auto attended = linear(mixed, w("attn_output.weight", Shape{c.width, c.heads * c.value_dim}));
      x = g.template emit<ops::ResidualAdd>({.in = {x, attended}})[0];
      const auto mlp = g.template emit<ops::Swiglu>(
          {.in = {norm(x)},
           .w = {no_norm, w("ffn_gate.weight", Shape{ff, c.width}), w("ffn_up.weight", Shape{ff, c.width}),
                 w("ffn_down.weight", Shape{c.width, ff})}})[0];
      x = g.template emit<ops::ResidualAdd>({.in = {x, mlp}})[0];
    }
    x = norm(g.template emit<ops::Take>({.in = {x, wanted}})[0]);  // only the rows that the batch asks for
    auto head = g.optional_weight("output.weight", Shape{c.vocabulary, c.width});
    if (!head.present()) head = table;
    g.output("logits", g.template emit<ops::LmHead>({.in = {x}, .w = {head}})[0]);
  }
};
static_assert(zrt::model::CheckArch<Olmo>::kOk);

/// The pre-tokenizer of a vocabulary that the host trained: the words of Llama 3, without its rule for whole words.
struct HouseWords {
  static constexpr std::array<std::string_view, 1> names{"house-words"};  // tokenizer.ggml.pre of the file
  static constexpr zrt::text::pre::Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = zrt::text::pre::StageList<zrt::text::pre::Llama3Words<3>>;
};
static_assert(zrt::text::pre::PreTokenizer<HouseWords>);

}  // namespace host
