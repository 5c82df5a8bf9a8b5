// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen2.hpp: the qwen2 family.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

namespace zrt::inline ZRT_ABI::model {

/// Qwen 2 and 2.5: biases on the projections of attention.
struct Qwen2 {
  static constexpr std::string_view name = "qwen2";
  static constexpr ops::RopeStyle rope_style = ops::RopeStyle::neox;
  using Ops = DenseOps;

  [[nodiscard]] static constexpr Config canonical() noexcept { return canonical_dense_config(); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qkv_bias = Has::always});
  }
};
static_assert(CheckArch<Qwen2>::kOk);

}  // namespace zrt::inline ZRT_ABI::model
