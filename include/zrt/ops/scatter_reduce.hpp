// SPDX-License-Identifier: Apache-2.0
// zrt/ops/scatter_reduce.hpp: elements combined into a tensor at an index for each of them, along one axis.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/along_axis.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/data_fault.hpp>
#include <zrt/ops/scatter.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ScatterReduceParams {
  std::uint32_t axis = 0;
  ScatterKind reduce = ScatterKind::add;
  std::array<std::uint8_t, 3> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ScatterReduceParams::axis, "axis"}, Member{&ScatterReduceParams::reduce, "reduce"},
                 Member{&ScatterReduceParams::reserved, "reserved"});
};

/// Gives x with updates[.., i, ..] combined into place [.., indices[.., i, ..], ..] along `axis` (PTIR
/// `ScatterReduce`, torch.scatter_reduce with include_self).
///
/// x and updates of one computed type, complex too for replace; indices si32 or si64, with the shape of
/// updates, which is that of x but along the axis. Updates apply in row-major order, so that the last
/// one replaces; sums of floats add up in that order, from x, and are rounded to the type once. maximum
/// and minimum give NaN where either is NaN. An index out of range reports Errc::spec_violation in the
/// step's status and changes nothing.
struct ScatterReduce {
  using Params = ScatterReduceParams;
  static constexpr Opcode opcode{85};
  static constexpr std::string_view name = "scatter_reduce";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"indices"}, Role{"updates"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::axis("axis", &Params::axis),
                                                    attribute::choice("reduce", &Params::reduce, kScatterNames));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr std::size_t kReduce = at<ScatterReduce>("reduce");
    if (auto r = c.indices(1); !r) return r;
    if (c.in[2].dtype != c.in[0].dtype) return c.differs(Errc::dtype_mismatch, 2, 0);
    const auto shape = shape_along(c, at<ScatterReduce>("axis"), 1);
    if (!shape) return pass(shape);
    BasicShape<D> both;
    if (!unify(*shape, c.in[2].shape, both)) return c.differs(Errc::shape_mismatch, 2, 1);
    const auto kind = c.template choice<ScatterKind>(kReduce);
    const bool orders = kind == ScatterKind::maximum || kind == ScatterKind::minimum;
    const DType dtype = c.in[0].dtype;
    if ((is_complex(dtype) && orders) || (is_boolean(dtype) && kind == ScatterKind::add))
      return c.wrong(Errc::dtype_mismatch, 0, "a dtype that ", c.chosen(kReduce), " is defined for");
    if (kind != ScatterKind::replace)
      if (auto r = c.computed(0); !r) return r;
    return c.give(c.in[0]);
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<ScatterReduce>& c, const Extents& bounds) noexcept {
    return c.params.reduce == ScatterKind::replace ? CheckedSize(0) : scatter_scratch(c.in[0].type, bounds);
  }

  static void reference(const HostCall<ScatterReduce>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    auto each = [&](auto&& put) {
      const std::uint64_t elements = c.in[1].elements(step);
      for_each_place(c.in[0], c.in[1], c.params.axis, step, 0, elements, [&](std::uint64_t i, std::uint64_t place) {
        if (place != kNowhere) return put(i, place);
        step.violated(worker);
      });
    };
    if (c.params.reduce == ScatterKind::replace) {
      copy_value(c.in[0], c.out[0], step);
      return each([&](std::uint64_t i, std::uint64_t place) {
        copy_elements(c.in[0].type.dtype, c.in[2].data, i, c.out[0].data, place, 1);
      });
    }
    scatter(c.params.reduce, c.in[0], c.in[2], c.out[0], step, worker, each);
  }

  [[nodiscard]] static std::optional<DataFault> find_fault(const HostCall<ScatterReduce>& c,
                                                           const ExecutionContext& step) noexcept {
    return first_outside(c.in[1], step, 1, AxisSplit(c.in[0], c.params.axis, step).extent);
  }

  /// What replace writes gets what came back where it stayed: of several at one place that is the last. What is the
  /// largest or smallest at its place, x's element among it, shares it in equal parts.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    constexpr std::uint64_t kAdd = G::choice_of(name, "reduce", "add");
    constexpr std::uint64_t kReplace = G::choice_of(name, "reduce", "replace");
    const std::string_view kind = c.choice("reduce");
    const std::int64_t axis = c.integer("axis");
    const auto g = c.cotangent();
    if (kind == "add") {
      if (c.wants(0)) c.give(0, g);
      if (c.wants(2)) c.give(2, b.gather(g, c.in(1), axis));
    } else if (kind == "replace") {
      const auto updates = c.in_type(2);
      const auto none = c.zeros(b, updates);
      if (c.wants(0)) c.give(0, b.scatter_reduce(kReplace, g, c.in(1), none, axis));
      if (!c.wants(2)) return;
      const auto order = b.iota(updates.shape, DType::si64, axis);
      const auto nobody = c.zeros(b, {DType::si64, c.in_type(0).shape});
      const auto last = b.scatter_reduce(kReplace, nobody, c.in(1), order, axis);
      c.give(2, b.select(b.eq(b.gather(last, c.in(1), axis), order), b.gather(g, c.in(1), axis), none));
    } else {
      const auto none = b.scalar(c.in_type(0).dtype, 0);
      const auto stayed = b.eq(c.in(0), c.out()), came = b.eq(c.in(2), b.gather(c.out(), c.in(1), axis));
      const auto sharers =
          b.scatter_reduce(kAdd, c.ones_where(stayed, g.dtype()), c.in(1), c.ones_where(came, g.dtype()), axis);
      const auto share = g / sharers;
      if (c.wants(0)) c.give(0, b.select(stayed, share, none));
      if (c.wants(2)) c.give(2, b.select(came, b.gather(share, c.in(1), axis), none));
    }
  }

  static constexpr bool emit_c_scratch = true;

  /// In plan/c/emit_index.hpp.
  template <class E> static void emit_c(E& f, const Call<E, ScatterReduce>& c) noexcept { emit_scatter_reduce(f, c); }
};
static_assert(Op<ScatterReduce> && HasReferenceScratch<ScatterReduce>);

}  // namespace zrt::inline ZRT_ABI::ops
