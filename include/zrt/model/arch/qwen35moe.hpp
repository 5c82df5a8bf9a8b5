// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen35moe.hpp: the qwen35moe family.
#pragma once

#include <zrt/model/delta_net_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3.5 with experts.
struct Qwen35Moe : DeltaNetExperts {
  static constexpr std::array<std::string_view, 1> names{"qwen35moe"};

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_delta_net_decoder<true>(g, c, {.alternates = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
