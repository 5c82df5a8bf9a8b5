// SPDX-License-Identifier: Apache-2.0
// zrt/ops/while_loop.hpp: a region repeated for as long as another says so.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/region.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct WhileLoopParams {
  std::uint64_t trip_limit = std::uint64_t{1} << 32;  ///< more trips are a violation

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&WhileLoopParams::trip_limit, "trip_limit"});
};

/// `proceed` takes the carried values and gives a truth value and carried values; while it is true,
/// `body` takes these and gives the next. The result is what `proceed` gave last. PTIR `While`.
///
/// A loop past its trip limit reports Errc::limit_exceeded in the step's status and ends.
struct WhileLoop {
  using Params = WhileLoopParams;
  static constexpr Opcode opcode{91};
  static constexpr std::string_view name = "while_loop";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"carry"}});
  static constexpr bool repeats_inputs = true;
  static constexpr auto output_roles = std::to_array({Role{"carry"}});
  static constexpr bool repeats_outputs = true;
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto region_roles = std::to_array<std::string_view>({"proceed", "body"});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto attributes = attribute_list(attribute::region("cond_region"), attribute::region("body_region"));

  static constexpr Result<void> infer(const TypeCall<WhileLoop>& c, OutputTypes<WhileLoop>& out) noexcept {
    const Repeated<TensorType> carry = types_from(c.in, 0);
    if (carry.count + 1 > kMaxOperands)
      return fail(Errc::limit_exceeded, "while_loop: ", carry.count, " carried values, at most ", kMaxOperands - 1);
    Repeated<TensorType> with_truth;
    with_truth.items[with_truth.count++] = {DType::i1, {}};
    for (const TensorType& type : carry) with_truth.items[with_truth.count++] = type;
    if (auto r = expect_border<WhileLoop>("proceed", "parameter", c.region[0].params, carry); !r) return r;
    if (auto r = expect_border<WhileLoop>("proceed", "result", c.region[0].results, with_truth); !r) return r;
    if (auto r = expect_border<WhileLoop>("body", "parameter", c.region[1].params, carry); !r) return r;
    if (auto r = expect_border<WhileLoop>("body", "result", c.region[1].results, carry); !r) return r;
    out = carry;
    return {};
  }

  static void reference(const HostCall<WhileLoop>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const HostRegion& proceed = c.region[0];
    const HostRegion& body = c.region[1];
    for (std::size_t i = 0; i < c.in.size(); ++i) pass_value(c.in[i], proceed.params[i], step);
    for (std::uint64_t trips = 0;; ++trips) {
      proceed.run(step, worker);
      const bool more = *proceed.results[0].data != std::byte{0};
      if (!more) break;
      if (trips == c.params.trip_limit) {
        step.violated(worker, Errc::limit_exceeded);
        break;
      }
      if (step.stopped()) {
        step.violated(worker, Errc::cancelled);
        break;
      }
      for (std::size_t i = 0; i < body.params.size(); ++i) pass_value(proceed.results[i + 1], body.params[i], step);
      body.run(step, worker);
      for (std::size_t i = 0; i < body.results.size(); ++i) pass_value(body.results[i], proceed.params[i], step);
    }
    for (std::size_t i = 0; i < c.out.size(); ++i) pass_value(proceed.results[i + 1], c.out[i], step);
  }

  static constexpr Gradient gradient =
      Gradient::none("only the run knows its trips; a scan has as many as its operands have rows");

  template <class E> static void emit_c(E& f, const Call<E, WhileLoop>& c) noexcept {
    using Expr = typename E::Expr;
    const auto& proceed = c.region[0];
    const auto& body = c.region[1];
    const Expr trips{"trips", f.depth};
    for (std::size_t i = 0; i < c.in.size(); ++i) copy_whole(f.w, c.in[i], proceed.params[i]);
    f.w.open({"for (uint64_t ", trips, " = 0;; ++", trips, ")"});
    proceed.write();
    f.w.line({"if (", load(proceed.results[0], {"0"}), " == 0) break;"});
    f.w.open({"if (", trips, " == ", E::literal(c.params.trip_limit), ")"});
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
static_assert(Op<WhileLoop>);

}  // namespace zrt::inline ZRT_ABI::ops
