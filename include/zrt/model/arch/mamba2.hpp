// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/mamba2.hpp: the mamba2 family.
#pragma once

#include <zrt/model/mamba_block.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Mamba 2: mixers alone, of the second form.
struct Mamba2 : MixerFamily {
  static constexpr std::array<std::string_view, 1> names{"mamba2"};

  static void read(ConfigReader& meta, Config& c) noexcept { read_model(meta, c, true); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_layers(g, c, [&](DecoderWriter<G>& w, unsigned layer) { return mamba2(g, w, c, layer); });
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
