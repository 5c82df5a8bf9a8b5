// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/arch_op_not_listed.cpp: a family lists the ops that it emits; the message names family and op.
// expect-error: zrt: an arch program emits an op that is not in its list Ops; add it there
// expect-error: ListsOp
// expect-error: Sparing
// expect-error: Take
#include <zrt/model/check_arch.hpp>
#include <zrt/model/dense_decoder.hpp>

struct Sparing {
  static constexpr std::array<std::string_view, 1> names{"sparing"};
  using Config = zrt::model::DecoderConfig;
  static constexpr auto neutral = zrt::model::kDecoderNeutral;
  static void read(zrt::model::ConfigReader&, Config&) noexcept {}
#ifdef ZRT_COMPILE_FAIL
  using Ops = boost::mp11::mp_remove<zrt::model::DecoderOps, zrt::ops::Take>;
#else
  using Ops = zrt::model::DecoderOps;
#endif
  static constexpr std::array<Config, 1> canonical() noexcept { return {zrt::model::canonical_decoder()}; }

  template <class G> static constexpr void build(G& g, const Config& c) { zrt::model::build_dense_decoder(g, c, {}); }
};
static_assert(zrt::model::CheckArch<Sparing>::kOk);
