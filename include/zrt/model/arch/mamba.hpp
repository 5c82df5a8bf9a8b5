// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/mamba.hpp: the mamba family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Mamba: mixers alone, of the first form.
struct Mamba : MixerFamily {
  static constexpr std::array<std::string_view, 1> names{"mamba"};
  static constexpr auto neutral = neutral_keys(kMixerNeutral, std::to_array<NeutralKey>({{"ssm.dt_b_c_rms"}}));

  static void read(ConfigReader& meta, Config& c) noexcept { read_model(meta, c, false); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_layers(g, c, [&](DecoderWriter<G>& w, unsigned layer) { return mamba1(g, w, c, layer); });
  }
};

/// Mamba that norms dt, B and C, each to a mean square of 1.
struct FalconMamba : Mamba {
  static constexpr std::string_view which = "with norms of dt, B and C";
  static constexpr auto neutral = kMixerNeutral;
  using Ops = boost::mp11::mp_append<DecoderOps,
                                     boost::mp11::mp_list<ops::Linear, ops::SsmConv1d, ops::SsmScan, ops::GatedAct>>;

  [[nodiscard]] static bool opens(const ConfigReader& meta) noexcept {
    const Name key = meta.name_of(kNorms);
    const GgufValue* value = meta.file().find(key.view());
    return value != nullptr && value->as<bool>(key.view()).value_or(false);
  }

  static void read(ConfigReader& meta, Config& c) noexcept {
    (void)meta.flag(kNorms, false);
    Mamba::read(meta, c);
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_layers(g, c,
                 [&](DecoderWriter<G>& w, unsigned layer) { return normed_mixer(g, c, mamba1_call(g, w, c, layer)); });
  }

 private:
  static constexpr std::string_view kNorms = "ssm.dt_b_c_rms";

  /// The mixer as the macro expands, with norms between.
  template <class G>
  static constexpr typename G::Tensor normed_mixer(G& g, const Config& config, const Call<G, ops::MambaMixer>& c) {
    using M = ops::MambaMixer;
    const auto linear = [&](auto x, M::Weight role) {
      return g.template emit<ops::Linear>({.in = {x}, .w = {c.w[role], {}}})[0];
    };
    const auto normed = [&](auto x, auto weight, std::uint32_t dim) {
      return g.template emit<ops::RmsNorm>(
          {.in = {x}, .w = {weight}, .params = {.eps = config.norm_eps, .dim = dim}})[0];
    };
    const typename G::Weight plain{};
    const auto stream = normed(c.in[0], c.w[M::norm], config.width);
    const auto channels = g.template emit<ops::SsmConv1d>({.in = {linear(stream, M::x)},
                                                           .w = {c.w[M::conv], c.w[M::conv_bias]},
                                                           .state = c.state,
                                                           .params = c.params.conv})[0];
    const auto low = normed(linear(channels, M::low), plain, config.ssm.rank);
    // B and C lie side by side, each a run of its own.
    const auto shared = normed(linear(channels, M::bc), plain, config.ssm.states);
    const auto scanned = g.template emit<ops::SsmScan>({.in = {channels, linear(low, M::dt), shared},
                                                        .w = {c.w[M::a], c.w[M::d], c.w[M::dt_bias]},
                                                        .state = c.state,
                                                        .params = c.params.scan})[0];
    const auto gated =
        g.template emit<ops::GatedAct>({.in = {linear(stream, M::z), scanned}, .params = {Activation::silu}})[0];
    return linear(gated, M::output);
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
