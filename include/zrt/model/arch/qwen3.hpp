// SPDX-License-Identifier: Apache-2.0
// zrt/model/arch/qwen3.hpp: the qwen3 family.
#pragma once

#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

namespace zrt::inline ZRT_ABI::model {

/// Qwen 3: query and key heads are normalised before the rotation.
struct Qwen3 {
  static constexpr std::string_view name = "qwen3";
  static constexpr ops::RopeStyle rope_style = ops::RopeStyle::neox;
  using Ops = DenseOps;

  [[nodiscard]] static constexpr Config canonical() noexcept { return canonical_dense_config(); }

  template <class G> static constexpr void build(G& g, const Config& c) {
    build_dense_decoder(g, c, {.qk_norm = Has::always});
  }
};
static_assert(CheckArch<Qwen3>::kOk);

}  // namespace zrt::inline ZRT_ABI::model
