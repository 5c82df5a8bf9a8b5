// SPDX-License-Identifier: Apache-2.0
// zrt/ops/take.hpp: rows of a table chosen by index.
#pragma once

#include <zrt/core/copy_elements.hpp>
#include <zrt/ops/attributes.hpp>
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
};
static_assert(Op<Take>);

}  // namespace zrt::inline ZRT_ABI::ops
