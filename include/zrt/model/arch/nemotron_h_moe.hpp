// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/nemotron_h_moe.hpp: the nemotron_h_moe family.
#pragma once

#include <zrt/model/arch/nemotron_h.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Nemotron 3: as Nemotron H, with experts in place of each MLP. They have no gate, and may read and write vectors
/// narrower than the stream, which one matrix before them and one behind them make.
struct NemotronHMoe : NemotronH {
  static constexpr std::array<std::string_view, 1> names{"nemotron_h_moe"};
  struct Config : SsmConfig {
    std::uint32_t latent = 0;  ///< width of the experts' vectors; 0: the stream's
  };
  using Ops = boost::mp11::mp_append<NemotronH::Ops, boost::mp11::mp_list<ops::MoeGateTopk, ops::MoeGateUp,
                                                                          ops::MoeDownAcc, ops::Linear, ops::GatedAct>>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    NemotronH::read(meta, c);
    read_experts(meta, c, 0, {.gating = ops::Gating::sigmoid});
    c.experts.shared_ff = meta.count("expert_shared_feed_forward_length", 1u << 22);
    // However many they are, files hold them as one.
    (void)meta.count_or_zero("expert_shared_count", 64, 0);
    c.latent = meta.count_or_zero("moe_latent_size", 1u << 20, 0);
  }

  /// With experts as wide as the stream, and narrower.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config wide{NemotronH::canonical()[0]};
    add_canonical_experts(wide);
    wide.experts.shared_ff = 40;
    Config narrow = wide;
    narrow.latent = 16;
    return {wide, narrow};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    DecoderWriter<G> w(g, c, kTraits);
    for (unsigned layer = 0; layer < c.layers; ++layer)
      w.add(layer, c.ff[layer] != 0 ? experts(g, w, c, layer) : mixer(g, w, c, layer));
    w.finish();
  }

 private:
  template <class G>
  static constexpr typename G::Tensor experts(G& g, DecoderWriter<G>& w, const Config& c, unsigned layer) {
    const ExpertConfig& e = c.experts;
    const std::uint32_t width = c.latent != 0 ? c.latent : c.width;
    const ops::GatedActParams act{c.activation};
    const auto linear = [&](auto x, std::string_view name, std::uint32_t rows, std::uint32_t cols) {
      return g.template emit<ops::Linear>({.in = {x}, .w = {w.weight(layer, name, Shape{rows, cols})}})[0];
    };
    const auto x = g.template emit<ops::RmsNorm>({.in = {w.x()},
                                                  .w = {w.weight(layer, "attn_norm.weight", Shape{c.width})},
                                                  .params = {.eps = c.norm_eps, .dim = c.width}})[0];
    const auto chosen =
        g.template emit<ops::MoeGateTopk>({.in = {x},
                                           .w = {w.weight(layer, "ffn_gate_inp.weight", Shape{e.count, c.width}),
                                                 {},
                                                 w.weight(layer, "exp_probs_b.bias", Shape{e.count})},
                                           .params = e.routing});
    const auto read = c.latent != 0 ? linear(x, "ffn_latent_down.weight", width, c.width) : x;
    const auto inner = g.template emit<ops::MoeGateUp>(
        {.in = {read, chosen[0]},
         .w = {typename G::Weight{}, w.weight(layer, "ffn_up_exps.weight", Shape{e.count, e.ff, width})},
         .params = {.gated = act}})[0];
    auto sum = g.template emit<ops::MoeDownAcc>(
        {.in = {inner, chosen[0], chosen[1], {}},
         .w = {w.weight(layer, "ffn_down_exps.weight", Shape{e.count, width, e.ff})}})[0];
    if (c.latent != 0) sum = linear(sum, "ffn_latent_up.weight", c.width, width);
    const auto shared = g.template emit<ops::GatedAct>(
        {.in = {linear(x, "ffn_up_shexp.weight", e.shared_ff, c.width), {}}, .params = act})[0];
    return g.template emit<ops::ResidualAdd>(
        {.in = {sum, linear(shared, "ffn_down_shexp.weight", c.width, e.shared_ff)}})[0];
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
