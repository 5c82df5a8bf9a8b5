// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/smollm3.hpp: the smollm3 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// SmolLM 3: each fourth layer rotates nothing.
struct SmolLm3 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"smollm3"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_plain_decoder(meta, c, ops::RopeStyle::interleaved);
    leave_unrotated(c);
  }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept {
    Config c = canonical_decoder();
    c.layers = 4;
    c.kv_heads = {2, 2, 2, 2};
    c.ff = {48, 48, 48, 48};
    leave_unrotated(c);
    return {c};
  }

  /// Each fourth layer is of the kind that else has windows, with none, and a rotation of nothing.
  static constexpr void leave_unrotated(Config& c) noexcept {
    c.window = 0;
    c.windowed_rope.n_rot = 0;
    for (std::uint32_t layer = 0; layer < c.layers; ++layer) c.windowed[layer] = layer % 4 == 3 ? 1 : 0;
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qkv_bias = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
