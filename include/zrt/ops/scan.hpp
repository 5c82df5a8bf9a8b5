// SPDX-License-Identifier: Apache-2.0
// zrt/ops/scan.hpp: a region applied along a leading axis, with values carried from step to step.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/region.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ScanParams {
  std::uint32_t carry_count = 0;
  std::uint32_t output_count = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ScanParams::carry_count, "carry_count"}, Member{&ScanParams::output_count, "output_count"});
};

/// For each t: `body` takes the carried values and slice t of every scanned input, and gives the next
/// carried values and one slice of every output. Results are the last carried values, then the
/// outputs stacked along a leading axis as long as that of the scanned inputs. PTIR `Scan`.
struct Scan {
  using Params = ScanParams;
  static constexpr Opcode opcode{92};
  static constexpr std::string_view name = "scan";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"operand"}});
  static constexpr bool repeats_inputs = true;
  static constexpr auto output_roles = std::to_array({Role{"results"}});
  static constexpr bool repeats_outputs = true;
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto region_roles = std::to_array<std::string_view>({"body"});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto attributes =
      attribute_list(attribute::region("body_region"), attribute::number("carry_count", &Params::carry_count),
                     attribute::number("scan_output_count", &Params::output_count));

  static constexpr Result<void> infer(const TypeCall<Scan>& c, OutputTypes<Scan>& out) noexcept {
    const std::size_t carries = c.params.carry_count;
    const Span<const TensorType> results = c.region[0].results;
    if (carries >= c.in.size())
      return fail(Errc::invalid_argument, "scan: ", carries, " carried values of ", c.in.size(),
                  " operands leave no scanned input");
    if (results.size() < carries || results.size() - carries != c.params.output_count)
      return fail(Errc::invalid_argument, "scan: region body has ", results.size(), " results, expected ", carries,
                  " carried values and ", c.params.output_count, " outputs");
    Repeated<TensorType> params = types_from(c.in, 0);
    const Shape& first = c.in[carries].type.shape;
    for (std::size_t i = carries; i < c.in.size(); ++i) {
      const Shape& shape = c.in[i].type.shape;
      if (shape.rank == 0 || shape[0] != first[0])
        return bad_shape<Scan>("a scanned input", "the leading axis of the first one", shape);
      params.items[i].shape = without_first(shape);
    }
    if (auto r = expect_border<Scan>("body", "parameter", c.region[0].params, params); !r) return r;
    for (std::size_t i = 0; i < carries; ++i) {
      out.items[out.count++] = c.in[i].type;
      if (!(results[i] == c.in[i].type))
        return bad_shape<Scan>("a carried result of the body", "the type of the carried value", results[i].shape);
    }
    for (std::size_t i = carries; i < results.size(); ++i) {
      if (results[i].shape.rank == kMaxRank)
        return fail(Errc::unsupported_tensor_rank, "scan: a stacked output would have more than ", unsigned{kMaxRank},
                    " axes");
      TensorType stacked{results[i].dtype, Shape{first[0]}};
      for (std::uint8_t axis = 0; axis < results[i].shape.rank; ++axis)
        stacked.shape = stacked.shape.appended(results[i].shape[axis]);
      out.items[out.count++] = stacked;
    }
    return {};
  }

  static void reference(const HostCall<Scan>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const HostRegion& body = c.region[0];
    const std::size_t carries = c.params.carry_count;
    const std::uint32_t length = step.extents.of(c.in[carries].type.shape[0]);
    for (std::size_t i = 0; i < carries; ++i) pass_value(c.in[i], c.out[i], step);
    for (std::uint32_t t = 0; t < length; ++t) {
      if (step.stopped()) return step.violated(worker, Errc::cancelled);
      for (std::size_t i = 0; i < body.params.size(); ++i) {
        if (i < carries) {
          pass_value(c.out[i], body.params[i], step);
          continue;
        }
        const std::uint64_t elements = body.params[i].elements(step);
        copy_elements(c.in[i].type.dtype, c.in[i].data, t * elements, body.params[i].data, 0, elements);
      }
      body.run(step, worker);
      for (std::size_t i = 0; i < body.results.size(); ++i) {
        const std::uint64_t elements = body.results[i].elements(step);
        copy_elements(c.out[i].type.dtype, body.results[i].data, 0, c.out[i].data, i < carries ? 0 : t * elements,
                      elements);
      }
    }
  }

  /// In ir/gradient/regions.hpp.
  template <class G> static void gradient(G& c) noexcept { scan_gradient(c); }

  template <class E> static void emit_c(E& f, const Call<E, Scan>& c) noexcept {
    using Expr = typename E::Expr;
    const auto& body = c.region[0];
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

 private:
  static constexpr Shape without_first(const Shape& shape) noexcept {
    Shape rest;
    for (std::uint8_t axis = 1; axis < shape.rank; ++axis) rest = rest.appended(shape[axis]);
    return rest;
  }
};
static_assert(Op<Scan>);

}  // namespace zrt::inline ZRT_ABI::ops
