// SPDX-License-Identifier: Apache-2.0
// zrt/ops/arg_max.hpp: index of the largest element along an axis.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/index_space.hpp>
#include <zrt/ops/row_major.hpp>

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

  static constexpr auto attributes =
      attribute_list(attribute::axis("axis", &Params::axis), attribute::boolean("keepdims", &Params::keep_dims),
                     attribute::dtype("output_dtype", &Params::index_dtype));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const auto axis = c.axis(at<ArgMax>("axis"), c.in[0].shape.rank);
    if (!axis) return pass(axis);
    const DType index = c.dtype(at<ArgMax>("output_dtype"));
    if (!is_index(index))
      return c.no(Errc::dtype_mismatch, "output_dtype is ", zrt::name(index), ", expected si32 or si64");
    if (is_complex(c.in[0].dtype)) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
    if (c.in[0].shape[*axis].is_constant(0)) return c.wrong(Errc::shape_mismatch, 0, "1 or more on axis ", *axis);
    AxisList one;
    one.axes[one.count++] = *axis;
    return c.give(index, c.reduced(c.in[0].shape, one, c.boolean(at<ArgMax>("keepdims"))));
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

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, ArgMax>& c) noexcept {
    const auto& x = c.in[0];
    const AxisSplit split = x.split(c.params.axis);
    const Domain domain = domain_of(x.dtype());
    f.w.loop({"o"}, split.outer);
    f.w.loop({"r"}, split.inner);
    f.w.line({"uint64_t best = 0;"});
    f.w.line({E::c_type(domain), " largest = 0;"});
    f.w.line({"int any = 0;"});
    f.w.loop({"n"}, split.extent);
    f.w.line(
        {"const ", E::c_type(domain), " x = ", load(x, {"(o * ", split.extent, " + n) * ", split.inner, " + r"}), ";"});
    f.w.line({"if (", is_float(x.dtype()) ? "x != x || " : "", "(any && !(x > largest))) continue;"});
    f.w.line({"best = n;"});
    f.w.line({"largest = x;"});
    f.w.line({"any = 1;"});
    f.w.close();
    store(f.w, c.out[0], {"o * ", split.inner, " + r"}, {"(int64_t)best"});
    f.w.close();
    f.w.close();
  }
};
static_assert(Op<ArgMax>);

}  // namespace zrt::inline ZRT_ABI::ops
