// SPDX-License-Identifier: Apache-2.0
// zrt/model/mamba_block.hpp: the Mamba mixers of a decoder.
#pragma once

#include <zrt/model/decoder_writer.hpp>
#include <zrt/model/ssm_sizes.hpp>
#include <zrt/ops/mamba_mixer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// What `mamba1` emits, for a family that emits the parts of it with ops of its own between them.
template <class G>
[[nodiscard]] constexpr Call<G, ops::MambaMixer> mamba1_call(G& g, DecoderWriter<G>& w, const SsmConfig& c,
                                                             unsigned layer) {
  const SsmSizes& s = c.ssm;
  const auto rows = [&](std::string_view whole, std::uint32_t first, std::uint32_t count, std::uint32_t total,
                        std::uint32_t cols) {
    return w.weight(layer, TensorRows::name(whole, first, count, total).view(), Shape{count, cols});
  };
  const std::uint32_t shared = 2 * s.states;
  ops::MambaMixerParams p;
  p.norm_eps = c.norm_eps;
  p.scan = {.heads = 1, .head_dim = s.inner, .groups = 1, .states = s.states, .by_channel = 1};
  share_block(p.conv.state, (s.taps - 1) * s.inner, p.scan.state, s.inner * s.states);
  return {.in = {w.x()},
          .w = {w.weight(layer, "attn_norm.weight", Shape{c.width}),
                rows("ssm_in.weight", 0, s.inner, 2 * s.inner, c.width),
                rows("ssm_in.weight", s.inner, s.inner, 2 * s.inner, c.width),
                w.weight(layer, "ssm_conv1d.weight", Shape{s.inner, s.taps}),
                w.weight(layer, "ssm_conv1d.bias", Shape{s.inner}),
                rows("ssm_x.weight", 0, s.rank, s.rank + shared, s.inner),
                rows("ssm_x.weight", s.rank, shared, s.rank + shared, s.inner),
                w.weight(layer, "ssm_dt.weight", Shape{s.inner, s.rank}),
                w.weight(layer, "ssm_dt.bias", Shape{s.inner}),
                w.weight(layer, "ssm_a", Shape{s.inner, s.states}),
                w.weight(layer, "ssm_d", Shape{s.inner}),
                {},
                w.weight(layer, "ssm_out.weight", Shape{c.width, s.inner})},
          .state = g.state(recurrent_block(p.scan.state.total)),
          .params = p};
}

/// A Mamba 1 mixer over the stream.
template <class G>
[[nodiscard]] constexpr typename G::Tensor mamba1(G& g, DecoderWriter<G>& w, const SsmConfig& c, unsigned layer) {
  return g.template emit<ops::MambaMixer>(mamba1_call(g, w, c, layer))[0];
}

/// A Mamba 2 mixer over the stream. `norm` says whether files hold the norm of the gated values.
template <class G>
[[nodiscard]] constexpr typename G::Tensor mamba2(G& g, DecoderWriter<G>& w, const SsmConfig& c, unsigned layer,
                                                  Has norm = Has::always) {
  const SsmSizes& s = c.ssm;
  const std::uint32_t channels = s.inner + 2 * s.groups * s.states;
  const auto rows = [&](std::uint32_t first, std::uint32_t count) {
    return w.weight(layer, TensorRows::name("ssm_in.weight", first, count, s.inner + channels + s.rank).view(),
                    Shape{count, c.width});
  };
  ops::MambaMixerParams p;
  p.norm_eps = c.norm_eps;
  p.scan = {.heads = s.rank, .head_dim = s.inner / s.rank, .groups = s.groups, .states = s.states};
  p.gated = {.eps = c.norm_eps, .dim = s.inner / s.groups, .gate_first = 1};
  share_block(p.conv.state, (s.taps - 1) * channels, p.scan.state, s.inner * s.states);
  return g.template emit<ops::MambaMixer>(
      {.in = {w.x()},
       .w = {w.weight(layer, "attn_norm.weight", Shape{c.width}),
             rows(s.inner, channels),
             rows(0, s.inner),
             w.weight(layer, "ssm_conv1d.weight", Shape{channels, s.taps}),
             w.weight(layer, "ssm_conv1d.bias", Shape{channels}, Has::maybe),
             {},
             {},
             rows(s.inner + channels, s.rank),
             w.weight(layer, "ssm_dt.bias", Shape{s.rank}),
             w.weight(layer, "ssm_a", Shape{s.rank, 1}),
             w.weight(layer, "ssm_d", Shape{s.rank, 1}),
             w.weight(layer, "ssm_norm.weight", Shape{s.groups, s.inner / s.groups}, norm),
             w.weight(layer, "ssm_out.weight", Shape{c.width, s.inner})},
       .state = g.state(recurrent_block(p.scan.state.total)),
       .params = p})[0];
}

/// Keys of models without attention and MLP, which their files may say as 0.
inline constexpr auto kMixerNeutral = neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({
                                                                        {"feed_forward_length"},
                                                                        {"attention.head_count"},
                                                                        {"attention.head_count_kv"},
                                                                        {"attention.sliding_window"},
                                                                    }));

/// Models of Mamba mixers alone; a family says which form its mixers have.
struct MixerFamily {
  using Config = SsmConfig;
  static constexpr auto neutral = kMixerNeutral;
  using Ops = boost::mp11::mp_push_back<DecoderOps, ops::MambaMixer>;

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_ssm()}; }

 protected:
  static void read_model(ConfigReader& meta, Config& c, bool second_form) noexcept {
    read_sizes(meta, c);
    read_norm(meta, c);
    read_ssm(meta, c.ssm, second_form);
  }
  /// `mixer(writer, layer)` gives the result of a layer's mixer.
  template <class G, class Mixer> static constexpr void build_layers(G& g, const Config& c, const Mixer& mixer) {
    constexpr DecoderTraits traits;
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) w.add(layer, mixer(w, layer));
    w.finish();
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
