// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/arch_reads_unproduced.cpp: an arch program reads what is produced; the message names arch and op.
// expect-error: zrt: an arch program reads a value before it is produced
// expect-error: ReadsOnlyProducedValues
// expect-error: Hasty
// expect-error: ResidualAdd
#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

struct Hasty {
  static constexpr std::array<std::string_view, 1> names{"hasty"};
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  static void read(zrt::model::ConfigReader&, Config&) noexcept {}
  using Ops = zrt::model::DecoderOps;
  static constexpr std::array<Config, 1> canonical() noexcept { return {zrt::model::canonical_decoder()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    const zrt::Dim tokens(1, g.symbol("tokens", 0));
    const auto ids = g.input("tokens", {zrt::DType::si32, zrt::Shape{tokens}});
    const auto table = g.weight("token_embd.weight", zrt::Shape{c.vocabulary, c.width});
    auto x = g.template emit<zrt::ops::Embedding>({.in = {ids}, .w = {table}})[0];
#ifdef ZRT_COMPILE_FAIL
    const typename G::Tensor branch{};
#else
    const auto branch = x;
#endif
    g.output("y", g.template emit<zrt::ops::ResidualAdd>({.in = {x, branch}})[0]);
  }
};
static_assert(zrt::model::CheckArch<Hasty>::kOk);
