// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/deepseek2.hpp: the deepseek2 family.
#pragma once

#include <zrt/model/decoder_writer.hpp>
#include <zrt/ops/mla_attention.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// DeepSeek V2 and V3: latent attention, and experts after the first layers, or in none. Files whose key and value projections are
/// one matrix (attn_kv_b), as older programs wrote them, are refused.
struct Deepseek2 {
  static constexpr std::array<std::string_view, 1> names{"deepseek2"};

  struct Config : DecoderConfig {
    std::uint32_t query_rank = 0;   ///< of the queries' low-rank projection; 0 for none
    std::uint32_t latent = 0;       ///< dims of a token's latent vector
    std::uint32_t nope_dim = 0;     ///< dims of a head's key that do not rotate
    std::uint32_t head_values = 0;  ///< dims of a head's value
  };

  /// What files say of experts that no layer has.
  static constexpr auto neutral =
      neutral_keys(kDecoderNeutral,
                   std::to_array<NeutralKey>({{"expert_feed_forward_length", Neutral::any}, {"expert_shared_count"}}));
  using Ops = boost::mp11::mp_push_back<ExpertDecoderOps, ops::MlaAttention>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    constexpr std::uint32_t most = 1u << 12;
    read_sizes(meta, c);
    read_mlp(meta, c);
    read_norm(meta, c);
    c.heads = meta.count("attention.head_count", most);
    (void)meta.count("attention.head_count_kv", most, 1);
    c.query_rank = meta.count_or_zero("attention.q_lora_rank", 1u << 14, 0);
    c.latent = meta.count("attention.kv_lora_rank", 512);
    const std::uint32_t key_dim = meta.count("attention.key_length_mla", 512);
    c.head_values = meta.count("attention.value_length_mla", 512);
    const std::uint32_t turned = meta.count("rope.dimension_count", key_dim - 1 < 64 ? key_dim - 1 : 64);
    c.nope_dim = key_dim - turned;
    c.key_dim = turned;
    if (meta.count("attention.key_length", 1024, c.latent + turned) != c.latent + turned ||
        meta.count("attention.value_length", 512, c.latent) != c.latent)
      meta.refuse(Errc::invalid_metadata, "keys and values are not as long as the latent vector of ", c.latent,
                  " dims, and ", turned, " rotated ones with it");
    read_rope(meta, c, ops::RopeStyle::interleaved);
    read_scale(meta, c, key_dim);
    expect_no_window(meta, c);
    read_mixture(meta, c);
  }

  /// With and without a low-rank projection of the queries, and without experts.
  [[nodiscard]] static constexpr std::array<Config, 3> canonical() noexcept {
    Config c{canonical_decoder()};
    add_canonical_experts(c, 1);
    c.experts.shared_ff = 24;
    c.latent = 16;
    c.nope_dim = 8;
    c.head_values = 8;
    c.key_dim = c.rope.head_dim = c.rope.n_rot = 4;
    Config low = c;
    low.query_rank = 12;
    Config dense = low;
    dense.experts = {.first_layer = dense.layers};
    return {c, low, dense};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    DecoderWriter<G> w(g, c, kTraits);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, attention(g, w, c, layer));
      w.add(layer, layer < c.experts.first_layer ? w.mlp(layer) : w.experts(layer));
    }
    w.finish();
  }

 private:
  static constexpr DecoderTraits kTraits{.selection_bias = Has::maybe};

  /// In a model without experts every layer is one of the first.
  static void read_mixture(ConfigReader& meta, Config& c) noexcept {
    if (has_experts(meta)) {
      read_experts(meta, c, 0, {.normalise = 0});
      return read_shared_count(meta, c);
    }
    c.experts.first_layer = c.layers;
    const Name all = Name::of(c.layers, ", all layers, without experts");
    meta.expect("leading_dense_block_count", all.view(), [&](double x) { return x == c.layers; });
  }

  /// Scores are scaled as YaRN scales cos and sin in other families, squared, and these stay as they are.
  static void read_scale(ConfigReader& meta, Config& c, std::uint32_t key_dim) noexcept {
    c.attention_scale = attention_scale(key_dim);
    const float multiplier = meta.number_or_zero("rope.scaling.yarn_log_multiplier", 0.0f);
    if (c.rope.scaling != ops::RopeScaling::yarn) return;
    const double log = math::log64(double{c.rope.factor});
    const double own = 1.0 + 0.1 * log;
    // Without the multiplier llama.cpp, whose files these are, scales both.
    const double scale = multiplier == 0.0f ? own : 1.0 + double{multiplier} * log;
    if (multiplier != 0.0f) c.rope.magnitude = static_cast<float>(double{c.rope.magnitude} / own);
    c.attention_scale = static_cast<float>(double{c.attention_scale} * scale * scale);
  }

  template <class G>
  static constexpr typename G::Tensor attention(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer) {
    using ops::MlaAttention;
    const std::uint32_t turned = c.rope.head_dim;
    const std::uint32_t query_rows = c.heads * (c.nope_dim + turned);
    const bool low = c.query_rank != 0;
    Call<G, MlaAttention> call;
    call.in = {w.x(), w.positions()};
    const auto bind = [&](MlaAttention::Weight role, std::string_view name, const Shape& shape) {
      call.w[role] = w.weight(layer, name, shape);
    };
    bind(MlaAttention::norm, "attn_norm.weight", Shape{c.width});
    if (low) {
      bind(MlaAttention::q_a, "attn_q_a.weight", Shape{c.query_rank, c.width});
      bind(MlaAttention::q_a_norm, "attn_q_a_norm.weight", Shape{c.query_rank});
    }
    bind(MlaAttention::q, low ? "attn_q_b.weight" : "attn_q.weight", Shape{query_rows, low ? c.query_rank : c.width});
    bind(MlaAttention::kv, "attn_kv_a_mqa.weight", Shape{c.latent + turned, c.width});
    bind(MlaAttention::kv_norm, "attn_kv_a_norm.weight", Shape{c.latent});
    bind(MlaAttention::k, "attn_k_b.weight", Shape{c.heads, c.latent, c.nope_dim});
    bind(MlaAttention::v, "attn_v_b.weight", Shape{c.heads, c.head_values, c.latent});
    bind(MlaAttention::output, "attn_output.weight", Shape{c.width, c.heads * c.head_values});
    call.state = g.state({StateLifecycle::kv_paged, c.kv_dtype, 0, 0, {1, c.latent + turned, c.latent, 0}});
    call.params.kv = {.eps = c.norm_eps, .latent = c.latent, .rope = c.rope};
    call.params.heads = c.heads;
    call.params.scale = c.attention_scale;
    call.params.norm_eps = c.norm_eps;
    return g.template emit<MlaAttention>(call)[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
