// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3.hpp: the qwen3 family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3: query and key heads are normalised before the rotation.
struct Qwen3 : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"qwen3"};

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::neox); }

  template <class G> static constexpr void build(G& g, const Config& c) { build_dense_decoder(g, c, kTraits); }

 protected:
  static constexpr DecoderTraits kTraits{.qk_norm = Has::always};
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
