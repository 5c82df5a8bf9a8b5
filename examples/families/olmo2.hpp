// SPDX-License-Identifier: Apache-2.0
// examples/families/olmo2.hpp: the olmo2 family and its pre-tokenizer, added by a host in one header of its own.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>
#include <zrt/text/pre_tokenizers.hpp>

namespace host {

/// OLMo 2: as llama, but each block's output is normalised instead of its input, and queries and keys are normalised
/// over their full width before the rotation.
struct Olmo2 {
  static constexpr std::array<std::string_view, 1> names{"olmo2"};  // general.architecture of the file
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  /// Every op that `build` emits.
  using Ops = boost::mp11::mp_list<zrt::ops::Embedding, zrt::ops::Linear, zrt::ops::RmsNorm,
                                   zrt::ops::RmsNormFusedRopeKvWrite, zrt::ops::FlashAttnBatched, zrt::ops::Swiglu,
                                   zrt::ops::ResidualAdd, zrt::ops::Take, zrt::ops::LmHeadLogits>;

  static void read(zrt::model::ConfigReader& meta, Config& c) noexcept {
    zrt::model::read_plain_decoder(meta, c, zrt::ops::RopeStyle::neox);
  }

  /// Small models, for the check at compile time.
  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    return {zrt::model::canonical_decoder()};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    using namespace zrt;
    const Dim tokens(1, g.symbol("tokens", 0));
    const Dim rows(1, g.symbol("rows", 0));
    const auto ids = g.input("tokens", {DType::si32, Shape{tokens}});
    const auto positions = g.input("positions", {DType::si32, Shape{tokens}});
    const auto wanted = g.input("rows", {DType::si32, Shape{rows}});
    const auto table = g.weight("token_embd.weight", Shape{c.vocabulary, c.width});

    const auto norm = [&](auto x, auto weight, std::uint32_t width) {
      return g.template emit<ops::RmsNorm>({.in = {x}, .w = {weight}, .params = {.eps = c.norm_eps, .dim = width}})[0];
    };
    const auto linear = [&](auto x, auto weight) {
      return g.template emit<ops::Linear>({.in = {x}, .w = {weight}})[0];
    };
    const std::uint32_t q_width = c.heads * c.key_dim;
    const decltype(table) no_norm{};

    auto x = g.template emit<ops::Embedding>({.in = {ids}, .w = {table}})[0];
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      const auto w = [&](std::string_view name, const Shape& shape) {
        return g.weight(Name::of("blk.", layer, ".", name), shape);
      };
      const std::uint32_t kv_heads = c.kv_heads[layer];
      const std::uint32_t ff = c.ff[layer];
      const std::uint32_t k_width = kv_heads * c.key_dim;
      const std::uint32_t v_width = kv_heads * c.value_dim;
      const auto cache = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {kv_heads, c.key_dim, c.value_dim, 0}});
      const auto q = norm(linear(x, w("attn_q.weight", Shape{q_width, c.width})),
                          w("attn_q_norm.weight", Shape{q_width}), q_width);
      const auto k = norm(linear(x, w("attn_k.weight", Shape{k_width, c.width})),
                          w("attn_k_norm.weight", Shape{k_width}), k_width);
      const auto v = linear(x, w("attn_v.weight", Shape{v_width, c.width}));
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
      const auto attended = norm(linear(mixed, w("attn_output.weight", Shape{c.width, c.heads * c.value_dim})),
                                 w("post_attention_norm.weight", Shape{c.width}), c.width);
      x = g.template emit<ops::ResidualAdd>({.in = {x, attended}})[0];
      const auto fed = g.template emit<ops::Swiglu>(
          {.in = {x},
           .w = {no_norm, w("ffn_gate.weight", Shape{ff, c.width}), w("ffn_up.weight", Shape{ff, c.width}),
                 w("ffn_down.weight", Shape{c.width, ff})}})[0];
      x = g.template emit<ops::ResidualAdd>(
          {.in = {x, norm(fed, w("post_ffw_norm.weight", Shape{c.width}), c.width)}})[0];
    }
    x = g.template emit<ops::Take>({.in = {x, wanted}})[0];  // only the rows that the batch asks for
    auto head = g.optional_weight("output.weight", Shape{c.vocabulary, c.width});
    if (!head.present()) head = table;
    g.output("logits", g.template emit<ops::LmHeadLogits>({.in = {x},
                                                           .w = {g.weight("output_norm.weight", Shape{c.width}), head},
                                                           .params = {.norm_eps = c.norm_eps}})[0]);
  }
};
static_assert(zrt::model::CheckArch<Olmo2>::kOk);

/// The pre-tokenizer that olmo2 files name: the words of Llama 3, without its rule for whole words.
struct Dbrx {
  static constexpr std::array<std::string_view, 1> names{"dbrx"};  // tokenizer.ggml.pre of the file
  static constexpr zrt::text::pre::Traits traits{.ignore_merges = false, .adds_bos = false, .cleans_spaces = true};
  using Stages = zrt::text::pre::StageList<zrt::text::pre::Llama3Words<3>>;
};
static_assert(zrt::text::pre::PreTokenizer<Dbrx>);

}  // namespace host
