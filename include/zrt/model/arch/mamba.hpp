// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/mamba.hpp: the mamba family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Mamba: mixers alone, of the first form.
struct Mamba : MixerFamily {
  static constexpr std::array<std::string_view, 1> names{"mamba"};
  /// Norms of dt, B and C, as FalconMamba has them, are not computed.
  static constexpr auto neutral = neutral_keys(kMixerNeutral, std::to_array<NeutralKey>({{"ssm.dt_b_c_rms"}}));

  static void read(ConfigReader& meta, Config& c) noexcept { read_model(meta, c, false); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_layers(g, c, [&](DecoderWriter<G>& w, unsigned layer) { return mamba1(g, w, c, layer); });
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
