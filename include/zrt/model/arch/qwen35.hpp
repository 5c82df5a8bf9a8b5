// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen35.hpp: the qwen35 family.
#pragma once

#include <zrt/model/delta_net_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3.5, dense: mixers of the gated delta rule, gated attention in every few layers, an MLP in each.
struct Qwen35 {
  static constexpr std::array<std::string_view, 1> names{"qwen35"};
  using Config = DeltaNetConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = boost::mp11::mp_append<DecoderOps, DeltaNetOps>;

  static void read(ConfigReader& meta, Config& c) noexcept { read_delta_net_decoder(meta, c); }

  /// With and without pairs that do not turn.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config some = canonical_delta_net();
    some.sections = {4, 2, 2, 0};
    return {canonical_delta_net(), some};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_delta_net_decoder<false>(g, c, {.alternates = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
