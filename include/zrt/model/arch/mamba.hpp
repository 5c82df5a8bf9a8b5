// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/mamba.hpp: the mamba family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Mamba: mixers alone, of the first form.
struct Mamba {
  static constexpr std::array<std::string_view, 1> names{"mamba"};
  using Config = SsmConfig;
  /// Norms of dt, B and C, as FalconMamba has them, are not computed.
  static constexpr auto neutral = neutral_keys(kMixerNeutral, std::to_array<NeutralKey>({{"ssm.dt_b_c_rms"}}));
  using Ops = boost::mp11::mp_push_back<DecoderOps, ops::MambaMixer>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_norm(meta, c);
    read_ssm(meta, c.ssm, false);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_ssm()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits;
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) w.add(layer, mamba1(g, w, c, layer));
    w.finish();
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
