// SPDX-License-Identifier: Apache-2.0
// zrt/ops/take.hpp: rows of a table chosen by index.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/data_fault.hpp>
#include <zrt/ops/element_value.hpp>
#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y[i...] = x[indices[i...]] along axis 0; x of any plain type, indices si32 or si64 (PTIR `Take`).
///
/// An index outside the table reports Errc::spec_violation in the step's status and gives a row of zeros.
struct Take {
  using Params = NoParams;
  static constexpr Opcode opcode{82};
  static constexpr std::string_view name = "take";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"indices"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = kNoAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    if (auto r = c.indices(1); !r) return r;
    if (c.in[0].shape.rank == 0) return c.wrong(Errc::shape_mismatch, 0, "at least one axis");
    BasicShape<D> shape = c.in[1].shape;
    for (std::size_t axis = 1; axis < c.in[0].shape.size(); ++axis) shape.append(c.in[0].shape[axis]);
    return c.give(c.in[0].dtype, shape);
  }

  /// How many rows a worker takes at least, so that none shares a byte with another's.
  [[nodiscard]] static std::uint64_t granule(const HostCall<Take>& c) noexcept {
    return info(c.in[0].type.dtype).block_elems;
  }

  static void reference(const HostCall<Take>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const AxisSplit x(c.in[0], 0, step);
    for (std::uint64_t i = 0; i < c.in[1].elements(step); ++i) {
      const std::uint64_t index = index_at(c.in[1], i);
      if (index < x.extent) {
        copy_elements(c.in[0].type.dtype, c.in[0].data, index * x.inner, c.out[0].data, i * x.inner, x.inner);
      } else {
        fill_with({}, c.in[0].type.dtype, c.out[0].data, i * x.inner, x.inner);
        step.violated(worker);
      }
    }
  }

  [[nodiscard]] static std::optional<DataFault> find_fault(const HostCall<Take>& c,
                                                           const ExecutionContext& step) noexcept {
    return first_outside(c.in[1], step, 1, AxisSplit(c.in[0], 0, step).extent);
  }

  /// The rows that were taken get what came back for them, summed where one was taken twice.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const std::int64_t places = c.in_type(1).shape.rank;
    typename G::Numbers window;
    for (std::int64_t axis = 1; axis < c.in_type(0).shape.rank; ++axis) window.append(places + axis - 1);
    const auto first = G::Numbers::all(1, 0);
    const std::array in{c.zeros(b, c.in_type(0)), c.in(1), c.cotangent()};
    c.give(0, b.emit("scatter_add", in, {b.ints(window.span()), b.ints(first.span()), b.ints(first.span()), {}})[0]);
  }

  template <class E> static void emit_c(E& f, const Call<E, Take>& c) noexcept {
    using Expr = typename E::Expr;
    const AxisSplit x = c.in[0].split(0);
    const DType dtype = c.in[0].dtype();
    const Expr y = c.out[0].pointer();
    f.w.loop({"i"}, c.in[1].elements());
    f.w.line({"const uint64_t index = ", load_index(c.in[1], {"i"}), ";"});
    f.w.open({"if (", E::below("index", x.extent), ")"});
    copy(f.w, dtype, y, {"i * ", x.inner}, c.in[0].pointer(), {"index * ", x.inner}, Expr{x.inner});
    f.w.close();
    f.w.open({"else"});
    f.w.loop({"k"}, x.inner);
    copy(f.w, dtype, y, {"i * ", x.inner, " + k"}, f.element({}, dtype), {"0"}, {"1"});
    f.w.close();
    f.fail();
    f.w.close();
    f.w.close();
  }
};
static_assert(Op<Take>);

}  // namespace zrt::inline ZRT_ABI::ops
