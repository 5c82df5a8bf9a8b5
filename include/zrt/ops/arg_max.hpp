// SPDX-License-Identifier: Apache-2.0
// zrt/ops/arg_max.hpp: index of the largest element along an axis.
#pragma once

#include <zrt/ops/index_space.hpp>
#include <zrt/ops/row_major.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ArgMaxParams {
  std::uint8_t axis = 0;
  std::uint8_t keep_dims = 0;
  DType index_dtype = DType::si32;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&ArgMaxParams::axis, "axis"}, Member{&ArgMaxParams::keep_dims, "keep_dims"},
                 Member{&ArgMaxParams::index_dtype, "index_dtype"});

  /// si32 over the last of `rank` axes, which is removed.
  [[nodiscard]] static constexpr ArgMaxParams last_axis(std::size_t rank) noexcept {
    return {static_cast<std::uint8_t>(rank - 1), 0, DType::si32};
  }
};

/// si32 or si64 index of the largest element along an axis (PTIR `ArgMax`). The smallest index wins a
/// tie and NaN never wins (an axis of NaN gives 0).
///
/// An axis that is empty in a step is a violation of the step, and gives 0.
struct ArgMax {
  using Params = ArgMaxParams;
  static constexpr Opcode opcode{72};
  static constexpr std::string_view name = "arg_max";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"index"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<ArgMax>& c, OutputTypes<ArgMax>& out) noexcept {
    const ArgMaxParams& p = c.params;
    if (auto r = expect_plain<ArgMax>(c.in[0], "x"); !r) return r;
    const TensorType& x = c.in[0].type;
    if (p.keep_dims > 1 || p.axis >= x.shape.rank) return bad_params<ArgMax>("keep_dims or axis is out of range");
    if (p.index_dtype != DType::si32 && p.index_dtype != DType::si64)
      return fail(Errc::dtype_mismatch, "arg_max: index_dtype is neither si32 nor si64");
    if (!is_computed(x.dtype)) return bad_dtype<ArgMax>("x", "a type with an order", x.dtype);
    if (x.shape[p.axis].extent == 0) return bad_shape<ArgMax>("x", "an axis that is not empty", x.shape);
    out[0] = {p.index_dtype, {}};
    for (std::size_t axis = 0; axis < x.shape.rank; ++axis) {
      if (axis != p.axis)
        out[0].shape = out[0].shape.appended(x.shape[axis]);
      else if (p.keep_dims != 0)
        out[0].shape = out[0].shape.appended(1);
    }
    return {};
  }

  static void reference(const HostCall<ArgMax>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const AxisSplit split(c.in[0], c.params.axis, step);
    if (split.extent == 0) {
      if (split.outer * split.inner != 0) step.violated(worker);
      return clear(c.out[0], step);
    }
    IndexSpace<1> line;
    line.add(split.extent, {split.inner});
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      T run[kFoldRun];
      for (std::uint64_t y = 0; y < split.outer * split.inner; ++y) {
        const std::uint64_t base = y / split.inner * split.extent * split.inner + y % split.inner;
        std::int64_t best = 0;
        T largest{};
        bool any = false;
        for (std::uint64_t first = 0; first < split.extent; first += kFoldRun) {
          const std::uint64_t count = std::min(split.extent - first, kFoldRun);
          line.read(0, dtype, c.in[0].data, base, first, count, dtype, run);
          for (std::uint64_t i = 0; i < count; ++i) {
            if (run[i] != run[i] || (any && !(run[i] > largest))) continue;
            best = static_cast<std::int64_t>(first + i);
            largest = run[i];
            any = true;
          }
        }
        element_functions<std::int64_t>(c.params.index_dtype).pack(&best, y, 1, c.out[0].data);
      }
    });
  }
};
static_assert(Op<ArgMax>);

}  // namespace zrt::inline ZRT_ABI::ops
