// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3next.hpp: the qwen3next family.
#pragma once

#include <zrt/model/delta_net_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3 Next: as Qwen 3.5 with experts, but for the order of heads and one matrix for both gates of a mixer.
struct Qwen3Next : DeltaNetExperts {
  static constexpr std::array<std::string_view, 1> names{"qwen3next"};

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_delta_net_decoder<true>(g, c, {.fused_gates = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
