// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/llama.hpp: the llama family.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

namespace zrt::inline ZRT_ABI::model {

/// Llama 1 to 3 and what follows their shape; rope factors carry llama3 scaling.
struct Llama {
  static constexpr std::string_view name = "llama";
  static constexpr ops::RopeStyle rope_style = ops::RopeStyle::interleaved;
  using Ops = DenseOps;

  [[nodiscard]] static constexpr Config canonical() noexcept { return canonical_dense_config(); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(
        g, c, {.qkv_bias = Has::maybe, .output_bias = Has::maybe, .mlp_bias = Has::maybe, .rope_factors = Has::maybe});
  }
};
static_assert(CheckArch<Llama>::kOk);

}  // namespace zrt::inline ZRT_ABI::model
