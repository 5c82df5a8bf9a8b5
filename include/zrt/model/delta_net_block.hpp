// SPDX-License-Identifier: Apache-2.0
// zrt/model/delta_net_block.hpp: the gated delta rule mixer of a decoder.
#pragma once

#include <zrt/model/decoder_writer.hpp>
#include <zrt/model/ssm_sizes.hpp>
#include <zrt/ops/gated_delta_net.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// In what the files of families with this mixer differ.
struct DeltaNetTraits {
  bool fused_gates = false;  ///< ssm_ba holds the rows of beta and alpha, by key head
  bool alternates = false;   ///< value head h reads key head h % key heads, not h / (value heads / key heads)
};

/// A mixer of the gated delta rule over the stream.
template <class G>
[[nodiscard]] constexpr typename G::Tensor delta_net(G& g, DecoderWriter<G>& w, const SsmConfig& c,
                                                     const DeltaNetTraits& traits, unsigned layer) {
  const SsmSizes& s = c.ssm;
  const std::uint32_t channels = s.inner + 2 * s.groups * s.states;
  const auto gate = [&](std::string_view name, std::uint32_t rows) {
    return w.weight(layer, name, Shape{rows, c.width});
  };
  ops::GatedDeltaNetParams p;
  p.norm_eps = c.norm_eps;
  p.delta = {.key_heads = s.groups,
             .value_heads = s.rank,
             .key_dim = s.states,
             .value_dim = s.inner / s.rank,
             .norm_eps = c.norm_eps,
             .alternates = traits.alternates ? std::uint8_t{1} : std::uint8_t{0}};
  p.gated = {.eps = c.norm_eps, .dim = s.inner / s.rank};
  share_block(p.conv.state, (s.taps - 1) * channels, p.delta.state, s.inner * s.states);
  return g.template emit<ops::GatedDeltaNet>(
      {.in = {w.x()},
       .w = {w.weight(layer, "attn_norm.weight", Shape{c.width}),
             gate("attn_qkv.weight", channels),
             gate("attn_gate.weight", s.inner),
             w.weight(layer, "ssm_conv1d.weight", Shape{channels, s.taps}),
             {},
             w.weight(layer, "ssm_dt.bias", Shape{s.rank}),
             w.weight(layer, "ssm_a", Shape{s.rank}),
             traits.fused_gates ? gate("ssm_ba.weight", 2 * s.rank) : gate("ssm_beta.weight", s.rank),
             traits.fused_gates ? typename G::Weight{} : gate("ssm_alpha.weight", s.rank),
             w.weight(layer, "ssm_norm.weight", Shape{s.inner / s.rank}),
             w.weight(layer, "ssm_out.weight", Shape{c.width, s.inner})},
       .state = g.state(recurrent_block(p.delta.state.total)),
       .params = p})[0];
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
