// SPDX-License-Identifier: Apache-2.0
// zrt/ops/cond.hpp: one of two regions, chosen by a truth value.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/region.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Runs region `on_true` when pred is true, else `on_false`; both take args and give results of the same
/// types. PTIR `Cond`.
struct Cond {
  using Params = NoParams;
  static constexpr Opcode opcode{90};
  static constexpr std::string_view name = "cond";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"pred"}, Role{"argument"}});
  static constexpr bool repeats_inputs = true;
  static constexpr auto output_roles = std::to_array({Role{"results"}});
  static constexpr bool repeats_outputs = true;
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto region_roles = std::to_array<std::string_view>({"on_true", "on_false"});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto attributes =
      attribute_list(attribute::region("true_region"), attribute::region("false_region"));

  static constexpr Result<void> infer(const TypeCall<Cond>& c, OutputTypes<Cond>& out) noexcept {
    if (auto r = expect_input<Cond>(c.in[0], "pred", DType::i1, 0); !r) return r;
    if (c.in[0].type.shape.rank != 0) return bad_shape<Cond>("pred", "no axes", c.in[0].type.shape);
    const Repeated<TensorType> args = types_from(c.in, 1);
    for (std::size_t i = 0; i < kRegions<Cond>; ++i) {
      if (auto r = expect_border<Cond>(region_roles[i], "parameter", c.region[i].params, args); !r) return r;
      if (auto r = expect_border<Cond>(region_roles[i], "result", c.region[i].results, c.region[0].results); !r)
        return r;
    }
    fill(out, c.region[0].results);
    return {};
  }

  static void reference(const HostCall<Cond>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const HostRegion& chosen = c.region[*c.in[0].data != std::byte{0} ? 0 : 1];
    for (std::size_t i = 0; i < chosen.params.size(); ++i) pass_value(c.in[i + 1], chosen.params[i], step);
    chosen.run(step, worker);
    for (std::size_t i = 0; i < chosen.results.size(); ++i) pass_value(chosen.results[i], c.out[i], step);
  }

  /// In ir/gradient/regions.hpp.
  template <class G> static void gradient(G& c) noexcept { cond_gradient(c); }

  template <class E> static void emit_c(E& f, const Call<E, Cond>& c) noexcept {
    for (std::size_t i = 0; i < c.region.size(); ++i) {
      if (i == 0)
        f.w.open({"if (", load(c.in[0], {"0"}), " != 0)"});
      else
        f.w.open({"else"});
      const auto& chosen = c.region[i];
      for (std::size_t k = 0; k < chosen.params.size(); ++k) copy_whole(f.w, c.in[k + 1], chosen.params[k]);
      chosen.write();
      for (std::size_t k = 0; k < chosen.results.size(); ++k) copy_whole(f.w, chosen.results[k], c.out[k]);
      f.w.close();
    }
  }
};
static_assert(Op<Cond>);

}  // namespace zrt::inline ZRT_ABI::ops
