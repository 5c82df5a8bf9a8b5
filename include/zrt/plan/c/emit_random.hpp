// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_random.hpp: random numbers in C, by the counters of ops/random.hpp.
#pragma once

#include <zrt/ops/random.hpp>
#include <zrt/plan/c/emit.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// Writes `number`, in the domain of the type, to each element; it reads the words `w` of element `i`.
template <class O> void fill_random(Context& f, const EmitCall<O>& c, const Expr& number) noexcept {
  const Expr seed = c.in[0].present() ? load_index(c.in[0], {"0"}) : literal(c.params.seed);
  f.w.loop({"i"}, c.out[0].elements());
  f.w.line({"uint32_t w[4];"});
  f.w.line({"zrt_philox(i, ", literal(c.params.stream), ", ", seed, ", w);"});
  store(f.w, c.out[0], {"i"}, number);
  f.w.close();
}

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
