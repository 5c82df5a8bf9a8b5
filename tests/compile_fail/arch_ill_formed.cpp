// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/arch_ill_formed.cpp: an arch program keeps the rules of its ops.
// expect-error: zrt: an arch program is not well-formed: state, shape or output
// expect-error: IsWellFormed
// expect-error: Crooked
// expect-error: LmHeadLogits
#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

struct Crooked {
  static constexpr std::string_view name = "crooked";
  using Ops = zrt::model::DenseOps;
  static constexpr zrt::model::Config canonical() noexcept { return zrt::model::canonical_dense_config(); }

  template <class G> static constexpr void build(G& g, const zrt::model::Config& c) {
    const zrt::Dim tokens(1, g.symbol("tokens", 0));
    const auto ids = g.input("tokens", {zrt::DType::si32, zrt::Shape{tokens}});
    const auto table = g.weight("token_embd.weight", zrt::Shape{c.vocabulary, c.width});
    const auto x = g.template emit<zrt::ops::Embedding>({.in = {ids}, .w = {table}})[0];
#ifdef ZRT_COMPILE_FAIL
    const auto norm = g.weight("output_norm.weight", zrt::Shape{c.width + 1});
#else
    const auto norm = g.weight("output_norm.weight", zrt::Shape{c.width});
#endif
    g.output("logits", g.template emit<zrt::ops::LmHeadLogits>({.in = {x}, .w = {norm, table}})[0]);
  }
};
static_assert(zrt::model::CheckArch<Crooked>::kOk);
