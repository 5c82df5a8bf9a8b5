// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/mistral3.hpp: the mistral3 family, without and with a temperature of queries.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/model/dense_decoder.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/cast.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reshape.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Mistral 3 and Ministral 3: as llama, with YaRN whose magnitude the file multiplies.
struct Mistral3 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"mistral3"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::interleaved);
    read_magnitude(meta, c);
  }

  template <class G> static constexpr void build(G& g, const Config& c) { build_dense_decoder(g, c, kTraits); }

 protected:
  static constexpr DecoderTraits kTraits{
      .qkv_bias = Has::maybe, .output_bias = Has::maybe, .mlp_bias = Has::maybe, .rope_factors = Has::maybe};

  /// With a multiplier m, cos and sin grow by (1 + 0.1 ln f) / (1 + 0.1 m ln f) for a factor f, not by YaRN's own
  /// 1 + 0.1 ln f, which this takes out again.
  static void read_magnitude(ConfigReader& meta, DecoderConfig& c) noexcept {
    const float multiplier = meta.number_or_zero("rope.scaling.yarn_log_multiplier", 0.0f);
    if (c.rope.scaling != ops::RopeScaling::yarn || multiplier == 0.0f) return;
    const double log = 0.1 * math::log64(double{c.rope.factor});
    c.rope.magnitude = static_cast<float>(double{c.rope.magnitude} / (1.0 + double{multiplier} * log));
  }
};

/// Mistral 3 whose queries grow with the position: by 1 + t ln(1 + floor(position / n)) for n, the context before YaRN.
struct TemperedMistral3 : Mistral3 {
  struct Config : DecoderConfig {
    float temperature = 0;  ///< t
  };
  using Ops = boost::mp11::mp_append<
      DecoderOps, boost::mp11::mp_list<ops::RmsNormFusedQkv, ops::RmsNormFusedRopeKvWrite, ops::FlashAttnBatched,
                                       ops::Linear, ops::Constant, ops::Cast, ops::BroadcastTo, ops::Reshape,
                                       ops::ElementwiseUnary, ops::ElementwiseBinary>>;
  static constexpr std::string_view which = "with a temperature of queries";

  [[nodiscard]] static bool opens(const ConfigReader& meta) noexcept {
    const Name key = meta.name_of(kTemperature);
    const GgufValue* value = meta.file().find(key.view());
    return value != nullptr && value->as<float>(key.view()).value_or(0.0f) != 0.0f;
  }

  static void read(ConfigReader& meta, Config& c) noexcept {
    Mistral3::read(meta, c);
    c.temperature = meta.number(kTemperature);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c{canonical_decoder()};
    c.rope.original_context = 16;
    c.temperature = 0.1f;
    return {c};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    DecoderWriter<G> w(g, c, kTraits);
    const auto temperature = temperatures(g, w, c);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, attention(g, c, w.attention_call(layer), temperature));
      w.add(layer, w.mlp(layer));
    }
    w.finish();
  }

 private:
  static constexpr std::string_view kTemperature = "attention.temperature_scale";

  /// What each element of the queries is multiplied by, f32 [tokens, heads · key_dim].
  template <class G>
  static constexpr typename G::Tensor temperatures(G& g, const DecoderWriter<G>& w, const Config& c) {
    using ops::BinaryKind;
    const Shape& tokens = w.rows();
    const auto filled = [&](float value) {
      const auto one = g.template emit<ops::Constant>({.in = {}, .w = {g.constant({&value, 1})}})[0];
      return g.template emit<ops::BroadcastTo>({.in = {one}, .params = {ShapeParams::of(tokens)}})[0];
    };
    const auto binary = [&](BinaryKind kind, auto a, auto b) {
      return g.template emit<ops::ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
    };
    const auto cast = [&](auto x, DType to) { return g.template emit<ops::Cast>({.in = {x}, .params = {to}})[0]; };
    const auto spans =
        binary(BinaryKind::div, cast(w.positions(), DType::f32), filled(static_cast<float>(c.rope.original_context)));
    const auto counted = binary(BinaryKind::add, filled(1.0f), cast(cast(spans, DType::si32), DType::f32));
    const auto log = g.template emit<ops::ElementwiseUnary>({.in = {counted}, .params = {ops::UnaryKind::log}})[0];
    const auto factors = binary(BinaryKind::add, filled(1.0f), binary(BinaryKind::mul, filled(c.temperature), log));
    const auto column =
        g.template emit<ops::Reshape>({.in = {factors}, .params = {ShapeParams::of(tokens.appended(1))}})[0];
    return g.template emit<ops::BroadcastTo>(
        {.in = {column}, .params = {ShapeParams::of(tokens.appended(c.heads * c.key_dim))}})[0];
  }

  /// Attention as the macro expands, with the factors between the rotation and the scores.
  template <class G>
  static constexpr typename G::Tensor attention(G& g, const Config& config, const Call<G, ops::MultiheadAttention>& c,
                                                typename G::Tensor factors) {
    using A = ops::MultiheadAttention;
    const ops::FlashAttnBatchedParams& a = c.params.attention;
    const auto parts = g.template emit<ops::RmsNormFusedQkv>(
        {.in = {c.in[0]},
         .w = {c.w[A::norm], c.w[A::q], c.w[A::k], c.w[A::v], c.w[A::q_bias], c.w[A::k_bias], c.w[A::v_bias]},
         .params = {.norm = {.eps = c.params.norm_eps, .dim = config.width}}});
    const auto turned = g.template emit<ops::RmsNormFusedRopeKvWrite>(
        {.in = {parts[0], parts[1], parts[2], c.in[1]},
         .w = {c.w[A::q_norm], c.w[A::k_norm], c.w[A::factors]},
         .state = c.state,
         .params = {.kv = {a.kv_heads, a.key_dim, a.value_dim}, .rope = c.params.rope}})[0];
    const auto query =
        g.template emit<ops::ElementwiseBinary>({.in = {turned, factors}, .params = {ops::BinaryKind::mul}})[0];
    const auto mixed = g.template emit<ops::FlashAttnBatched>({.in = {query}, .state = c.state, .params = a})[0];
    return g.template emit<ops::Linear>({.in = {mixed}, .w = {c.w[A::output], c.w[A::output_bias]}})[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
