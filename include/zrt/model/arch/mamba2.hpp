// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/mamba2.hpp: the mamba2 family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Mamba 2: mixers alone, of the second form.
struct Mamba2 {
  static constexpr std::array<std::string_view, 1> names{"mamba2"};
  using Config = SsmConfig;
  static constexpr auto neutral = kMixerNeutral;
  using Ops = boost::mp11::mp_push_back<DecoderOps, ops::MambaMixer>;

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_norm(meta, c);
    read_ssm(meta, c.ssm, true);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_ssm()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    constexpr DecoderTraits traits;
    DecoderWriter<G> w(g, c, traits);
    for (unsigned layer = 0; layer < c.layers; ++layer) w.add(layer, mamba2(g, w, c, layer));
    w.finish();
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
