// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3vl_images.hpp: the qwen3vl family beside rows of images.
#pragma once

#include <zrt/model/arch/qwen3vl.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3 VL beside images: rows turn with a time, a line and a column, and features of an image are added after the first
/// layers (deepstack).
///
/// A given row holds the row of the first layer, then the features of the layers, as the encoder writes them. Ports
/// beside those of every decoder: input rope_positions si32 [tokens, kRopeAxes].
struct Qwen3VlImages : Qwen3Vl {
  static constexpr std::string_view which = "with given embeddings";
  static constexpr auto neutral = kDecoderNeutral;
  using Ops =
      boost::mp11::mp_append<DecoderOps, boost::mp11::mp_list<ops::RmsNormFusedQkv, ops::Rope, ops::Slice, ops::Reshape,
                                                              ops::KvWriteBatched, ops::FlashAttnBatched, ops::Linear>>;

  [[nodiscard]] static bool opens(const ConfigReader& meta) noexcept { return meta.host().given_embeddings; }

  static void read(ConfigReader& meta, Config& c) noexcept {
    Qwen3Vl::read(meta, c);
    c.given_features = meta.count_or_zero("n_deepstack_layers", c.layers, 0);
    c.rope_axes = kRopeAxes;
    if (c.rope.scaling == ops::RopeScaling::yarn)
      meta.refuse(Errc::unimplemented, "rope.scaling.type is yarn, expected none or linear beside images");
  }

  /// With features and pairs that do not turn, and without.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    auto both = Qwen3Vl::canonical();
    for (Config& c : both) {
      c.given_embeddings = true;
      c.rope_axes = kRopeAxes;
    }
    both[1].given_features = 1;
    return both;
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits{.qk_norm = Has::always};
    typename G::Tensor given{};
    Shape whole{};
    const auto columns = [&](std::uint32_t part) {
      if (c.given_features == 0) return given;
      return g.template emit<ops::Slice>(
          {.in = {given}, .params = ops::SliceParams::of_last(whole, part * c.width, c.width)})[0];
    };
    DecoderWriter<G> w(g, c, traits, [&](auto rows, const Shape& shape) {
      given = rows;
      whole = shape;
      return columns(0);
    });
    AxesRope<G> rope(g, w.rows(), c.sections, c.rope);
    for (unsigned layer = 0; layer < c.layers; ++layer) {
      w.add(layer, attention(g, c, w.attention_call(layer), rope));
      w.add(layer, w.mlp(layer));
      if (layer < c.given_features) w.add(layer, features(g, w, columns(layer + 1)));
    }
    w.finish();
  }

 private:
  /// The features of given rows, and 0 for tokens, whose embedding is scaled by it.
  template <class G>
  static constexpr typename G::Tensor features(G& g, const DecoderWriter<G>& w, typename G::Tensor given) {
    return g.template emit<ops::Embedding>({.in = {w.tokens(), given}, .w = {w.table()}, .params = {.scale = 0.0f}})[0];
  }

  /// Attention as the macro expands, with rotations by all axes.
  template <class G>
  static constexpr typename G::Tensor attention(G& g, const Config& config, const Call<G, ops::MultiheadAttention>& c,
                                                AxesRope<G>& rope) {
    using A = ops::MultiheadAttention;
    const ops::FlashAttnBatchedParams& a = c.params.attention;
    const auto parts =
        g.template emit<ops::RmsNormFusedQkv>({.in = {c.in[0]},
                                               .w = {c.w[A::norm], c.w[A::q], c.w[A::k], c.w[A::v]},
                                               .params = {.norm = {.eps = c.params.norm_eps, .dim = config.width}}});
    const auto turned = [&](auto x, auto norm) {
      return rope(g.template emit<ops::RmsNorm>(
          {.in = {x}, .w = {norm}, .params = {.eps = c.params.norm_eps, .dim = a.key_dim}})[0]);
    };
    const auto query = turned(parts[0], c.w[A::q_norm]);
    (void)g.template emit<ops::KvWriteBatched>({.in = {turned(parts[1], c.w[A::k_norm]), parts[2]},
                                                .state = c.state,
                                                .params = {a.kv_heads, a.key_dim, a.value_dim}});
    const auto mixed = g.template emit<ops::FlashAttnBatched>({.in = {query}, .state = c.state, .params = a})[0];
    return g.template emit<ops::Linear>({.in = {mixed}, .w = {c.w[A::output], {}}})[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
