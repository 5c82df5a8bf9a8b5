// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/arch_reads_unproduced.cpp: an arch program reads what is produced; the message names arch and op.
// expect-error: zrt: an arch program reads a value before it is produced
// expect-error: ReadsOnlyProducedValues
// expect-error: Hasty
// expect-error: ResidualAdd
#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

struct Hasty {
  static constexpr std::string_view name = "hasty";
  using Ops = zrt::model::DenseOps;
  static constexpr zrt::model::Config canonical() noexcept { return zrt::model::canonical_dense_config(); }

  template <class G> static constexpr void build(G& g, const zrt::model::Config& c) {
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
