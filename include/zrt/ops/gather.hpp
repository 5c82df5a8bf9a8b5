// SPDX-License-Identifier: Apache-2.0
// zrt/ops/gather.hpp: elements chosen by an index for each of them, along one axis.
#pragma once

#include <zrt/ops/along_axis.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/data_fault.hpp>
#include <zrt/ops/element_value.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct GatherParams {
  std::uint32_t axis = 0;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&GatherParams::axis, "axis"});
};

/// y[.., i, ..] = x[.., indices[.., i, ..], ..]; x of any plain type, indices si32 or si64 of x's
/// extents but along `axis` (PTIR `Gather`, torch.gather).
///
/// An index outside x reports Errc::spec_violation in the step's status and gives zero.
struct Gather {
  using Params = GatherParams;
  static constexpr Opcode opcode{83};
  static constexpr std::string_view name = "gather";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"indices"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::axis("axis", &Params::axis));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    if (auto r = c.indices(1); !r) return r;
    const auto shape = shape_along(c, at<Gather>("axis"), 1);
    if (!shape) return pass(shape);
    return c.give(c.in[0].dtype, *shape);
  }

  static void reference(const HostCall<Gather>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    const std::uint64_t elements = c.in[1].elements(step);
    for_each_place(c.in[0], c.in[1], c.params.axis, step, 0, elements, [&](std::uint64_t i, std::uint64_t place) {
      if (place != kNowhere) return copy_elements(dtype, c.in[0].data, place, c.out[0].data, i, 1);
      fill_with({}, dtype, c.out[0].data, i, 1);
      step.violated(worker);
    });
  }

  [[nodiscard]] static std::optional<DataFault> find_fault(const HostCall<Gather>& c,
                                                           const ExecutionContext& step) noexcept {
    return first_outside(c.in[1], step, 1, AxisSplit(c.in[0], c.params.axis, step).extent);
  }

  template <class G> static void gradient(G& c) noexcept {
    c.give(0,
           c.builder().scatter_reduce(G::choice_of("scatter_reduce", "reduce", "add"),
                                      c.zeros(c.builder(), c.in_type(0)), c.in(1), c.cotangent(), c.integer("axis")));
  }

  /// In plan/c/emit_index.hpp.
  template <class E> static void emit_c(E& f, const Call<E, Gather>& c) noexcept { emit_gather(f, c); }
};
static_assert(Op<Gather>);

}  // namespace zrt::inline ZRT_ABI::ops
