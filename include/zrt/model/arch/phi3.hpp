// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/phi3.hpp: the phi3 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Phi 3 and 4: fused projections; a long context has rope factors of its own.
struct Phi3 {
  static constexpr std::array<std::string_view, 1> names{"phi3"};
  using Config = DecoderConfig;
  /// Files may name a window; llama.cpp, whose files these are, does not apply it.
  static constexpr auto neutral =
      neutral_keys(kDecoderNeutral, std::to_array<NeutralKey>({{"attention.sliding_window", Neutral::any}}));
  /// A slot uses one of the two lists of factors.
  static constexpr std::array<std::string_view, 2> ignored_tensors{"rope_factors_long.weight",
                                                                   "rope_factors_short.weight"};
  using Ops = DecoderOps;

  /// The list of factors that a slot uses.
  [[nodiscard]] static constexpr std::string_view factors_of(const Config& c) noexcept {
    return c.positions > c.rope.original_context ? "rope_factors_long.weight" : "rope_factors_short.weight";
  }

  static void read(ConfigReader& meta, Config& c) noexcept {
    read_sizes(meta, c);
    read_mlp(meta, c);
    read_heads(meta, c);
    read_norm(meta, c);
    // The factors are tensors, so the type scales nothing beyond them.
    read_rope(meta, c, ops::RopeStyle::neox, "longrope");
    expect_usual_scale(meta, c);
    const std::string_view wanted = factors_of(c);
    for (const std::string_view other : ignored_tensors)
      if (meta.file().find_tensor(wanted) == nullptr && meta.file().find_tensor(other) != nullptr)
        meta.refuse(Errc::missing_weight, "the model has no tensor ", wanted, ", but ", other);
  }

  /// A slot within the original context and one beyond it.
  [[nodiscard]] static constexpr std::array<Config, 2> canonical() noexcept {
    Config within = canonical_decoder();
    within.rope.original_context = within.positions;
    Config beyond = within;
    beyond.rope.original_context = 1;
    return {within, beyond};
  }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(
        g, c,
        {.rope_factors = Has::maybe, .rope_factors_name = factors_of(c), .fused_qkv = true, .fused_gate_up = true});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
