// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/arch_ill_formed.cpp: an arch program keeps the rules of its ops.
// expect-error: zrt: an arch program is not well-formed: state, shape or output
// expect-error: IsWellFormed
// expect-error: Crooked
// expect-error: LmHeadLogits
#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

struct Crooked {
  static constexpr std::array<std::string_view, 1> names{"crooked"};
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  static void read(zrt::model::ConfigReader&, Config&) noexcept {}
  using Ops = zrt::model::DecoderOps;
  static constexpr std::array<Config, 1> canonical() noexcept { return {zrt::model::canonical_decoder()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
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
