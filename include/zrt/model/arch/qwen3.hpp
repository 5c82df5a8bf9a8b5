// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3.hpp: the qwen3 family.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3: query and key heads are normalised before the rotation.
struct Qwen3 {
  static constexpr std::array<std::string_view, 1> names{"qwen3"};
  using Config = DecoderConfig;
  static constexpr auto neutral = kDecoderNeutral;
  using Ops = DecoderOps;

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::neox); }

  [[nodiscard]] static constexpr std::array<Config, 1> canonical() noexcept { return {canonical_decoder()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qk_norm = Has::always});
  }
};
static_assert(CheckArch<Qwen3>::kOk);

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
