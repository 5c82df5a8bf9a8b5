// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_random.hpp: random numbers in C, by the counters of ops/random.hpp.
#pragma once

#include <zrt/ops/rng_normal.hpp>
#include <zrt/ops/rng_uniform.hpp>
#include <zrt/plan/c/emit.hpp>

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

template <> struct Emit<ops::RngUniform> {
  static void emit(Context& f, const EmitCall<ops::RngUniform>& c) noexcept {
    const unsigned bits = ops::RngUniform::precision(c.params.dtype);
    if (c.params.dtype == DType::f64)
      fill_random(f, c, {"(double)zrt_upper_53(w[0], w[1]) * 0x1p-53"});
    else
      fill_random(f, c, {"(float)(w[0] >> ", 32 - bits, ") * 0x1p-", bits, "f"});
  }
};

template <> struct Emit<ops::RngNormal> {
  static void emit(Context& f, const EmitCall<ops::RngNormal>& c) noexcept {
    fill_random(f, c, {"zrt_normal_", c_name(domain_of(c.params.dtype)), "(w)"});
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c
