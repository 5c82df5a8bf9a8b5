// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/arch_unbound_role.cpp: an arch program binds every required weight role; the message names arch and op.
// expect-error: zrt: an arch program leaves a required weight role unbound
// expect-error: BindsEveryWeightRole
// expect-error: Forgetful
// expect-error: Embedding
#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

struct Forgetful {
  static constexpr std::array<std::string_view, 1> names{"forgetful"};
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  static void read(zrt::model::ConfigReader&, Config&) noexcept {}
  using Ops = zrt::model::DecoderOps;
  static constexpr std::array<Config, 1> canonical() noexcept { return {zrt::model::canonical_decoder()}; }

  template <class G> static constexpr void build(G& g, const Config& c) {
    const zrt::Dim tokens(1, g.symbol("tokens", 0));
    const auto ids = g.input("tokens", {zrt::DType::si32, zrt::Shape{tokens}});
#ifdef ZRT_COMPILE_FAIL
    // Absent in files without the tensor: the role is required, so the tensor must be too.
    const auto table = g.optional_weight("token_embd.weight", zrt::Shape{c.vocabulary, c.width});
#else
    const auto table = g.weight("token_embd.weight", zrt::Shape{c.vocabulary, c.width});
#endif
    g.output("y", g.template emit<zrt::ops::Embedding>({.in = {ids}, .w = {table}})[0]);
  }
};
static_assert(zrt::model::CheckArch<Forgetful>::kOk);
