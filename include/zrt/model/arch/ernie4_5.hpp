// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/ernie4_5.hpp: the ernie4_5 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// ERNIE 4.5, dense.
struct Ernie45 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"ernie4_5"};

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::interleaved); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
