// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_region.hpp: cond, while_loop and scan as control flow of C.
#pragma once

#include <zrt/ops/cond.hpp>
#include <zrt/ops/scan.hpp>
#include <zrt/ops/while_loop.hpp>
#include <zrt/plan/c/emit.hpp>

namespace zrt::inline ZRT_ABI::plan::c {

template <> struct Emit<ops::Cond> {
  static void emit(Context& f, const EmitCall<ops::Cond>& c) noexcept {
    for (std::size_t i = 0; i < c.region.size(); ++i) {
      if (i == 0)
        f.w.open({"if (", load(c.in[0], {"0"}), " != 0)"});
      else
        f.w.open({"else"});
      const Region& chosen = c.region[i];
      for (std::size_t k = 0; k < chosen.params.size(); ++k) copy_whole(f.w, c.in[k + 1], chosen.params[k]);
      chosen.write();
      for (std::size_t k = 0; k < chosen.results.size(); ++k) copy_whole(f.w, chosen.results[k], c.out[k]);
      f.w.close();
    }
  }
};

template <> struct Emit<ops::WhileLoop> {
  static void emit(Context& f, const EmitCall<ops::WhileLoop>& c) noexcept {
    const Region& proceed = c.region[0];
    const Region& body = c.region[1];
    const Expr trips{"trips", f.depth};
    for (std::size_t i = 0; i < c.in.size(); ++i) copy_whole(f.w, c.in[i], proceed.params[i]);
    f.w.open({"for (uint64_t ", trips, " = 0;; ++", trips, ")"});
    proceed.write();
    f.w.line({"if (", load(proceed.results[0], {"0"}), " == 0) break;"});
    f.w.open({"if (", trips, " == ", literal(c.params.trip_limit), ")"});
    f.fail(2);
    f.w.line({"break;"});
    f.w.close();
    for (std::size_t i = 0; i < body.params.size(); ++i) copy_whole(f.w, proceed.results[i + 1], body.params[i]);
    body.write();
    for (std::size_t i = 0; i < body.results.size(); ++i) copy_whole(f.w, body.results[i], proceed.params[i]);
    f.w.close();
    for (std::size_t i = 0; i < c.out.size(); ++i) copy_whole(f.w, proceed.results[i + 1], c.out[i]);
  }
};

template <> struct Emit<ops::Scan> {
  static void emit(Context& f, const EmitCall<ops::Scan>& c) noexcept {
    const Region& body = c.region[0];
    const std::size_t carries = c.params.carry_count;
    const Expr time{"time", f.depth};
    for (std::size_t i = 0; i < carries; ++i) copy_whole(f.w, c.in[i], c.out[i]);
    f.w.loop(time, c.in[carries].type.shape[0].extent);
    for (std::size_t i = 0; i < body.params.size(); ++i) {
      const std::uint64_t elements = body.params[i].elements();
      if (i < carries)
        copy_whole(f.w, c.out[i], body.params[i]);
      else if (elements != 0)
        copy(f.w, c.in[i].dtype(), body.params[i].pointer(), {"0"}, c.in[i].pointer(), {time, " * ", elements},
             Expr{elements});
    }
    body.write();
    for (std::size_t i = 0; i < body.results.size(); ++i) {
      const std::uint64_t elements = body.results[i].elements();
      if (i < carries)
        copy_whole(f.w, body.results[i], c.out[i]);
      else if (elements != 0)
        copy(f.w, c.out[i].dtype(), c.out[i].pointer(), {time, " * ", elements}, body.results[i].pointer(), {"0"},
             Expr{elements});
    }
    f.w.close();
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c
