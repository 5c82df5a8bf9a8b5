// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/exaone4.hpp: the exaone4 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// EXAONE 4: norms after the blocks alone. Where the file names a window, three of four layers have it, and the others
/// rotate nothing.
struct Exaone4 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"exaone4"};

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_decoder(meta, c, ops::RopeStyle::neox);
    expect_usual_scale(meta, c);
    if (!meta.has("attention.sliding_window")) return;
    read_window(meta, c, 0, 4);
    c.rope.n_rot = 0;
  }

  /// Without and with windows.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config windowed = canonical_decoder();
    windowed.window = 8;
    windowed.windowed = {1, 0};
    windowed.rope.n_rot = 0;
    return {canonical_decoder(), windowed};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qk_norm = Has::always, .post_norm = Has::always, .attention_norm = {}, .mlp_norm = {}});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
