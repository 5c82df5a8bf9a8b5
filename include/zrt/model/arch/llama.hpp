// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/llama.hpp: the llama family.
#pragma once

#include <zrt/model/dense_decoder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Llama 1 to 3 and what follows their shape; rope factors carry llama3 scaling.
struct Llama : DenseFamily {
  static constexpr std::array<std::string_view, 1> names{"llama"};
  /// Tables of rotations, which only older programs read and which follow from the metadata.
  static constexpr std::array<std::string_view, 1> ignored_tensors{"rot_embd"};

  static void read(ConfigReader& meta, Config& c) noexcept { read_plain_decoder(meta, c, ops::RopeStyle::interleaved); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(
        g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe, .mlp_bias = Has::maybe, .rope_factors = Has::maybe});
  }
};

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
