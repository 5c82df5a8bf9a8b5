// SPDX-License-Identifier: Apache-2.0
// zrt/ops/reduce.hpp: sum, maximum or minimum over any axes.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/fold.hpp>
#include <zrt/ops/index_space.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct ReduceParams {
  ReduceKind kind = ReduceKind::sum;
  std::uint8_t keep_dims = 1;
  std::uint8_t axes = 0;  ///< bit a stands for axis a
  DType accum_dtype = DType::f32;
  DType out_dtype = DType::f32;

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields =
      field_list(Member{&ReduceParams::kind, "kind"}, Member{&ReduceParams::keep_dims, "keep_dims"},
                 Member{&ReduceParams::axes, "axes"}, Member{&ReduceParams::accum_dtype, "accum_dtype"},
                 Member{&ReduceParams::out_dtype, "out_dtype"});

  /// f32 over the last of `rank` axes, which stays with extent 1.
  [[nodiscard]] static constexpr ReduceParams last_axis(ReduceKind kind, std::size_t rank) noexcept {
    return {kind, 1, static_cast<std::uint8_t>(1u << (rank - 1)), DType::f32, DType::f32};
  }
};

/// Reduces any axes (PTIR `Reduce`); no axes is a fold of each element alone.
///
/// Elements are cast to accum_dtype, folded in its domain in row-major order (`Fold`), rounded once to
/// accum_dtype, and cast to out_dtype.
struct Reduce {
  using Params = ReduceParams;
  static constexpr Opcode opcode{71};
  static constexpr std::string_view name = "reduce";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes =
      attribute_list(attribute::choice("kind", &Params::kind, kReduceNames), attribute::axis_set("axes", &Params::axes),
                     attribute::boolean("keepdims", &Params::keep_dims),
                     attribute::dtype("accum_dtype", &Params::accum_dtype, DTypeDefault::accumulator),
                     attribute::dtype("out_dtype", &Params::out_dtype, DTypeDefault::operand));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const auto axes = c.axes(at<Reduce>("axes"), c.in[0].shape.rank);
    if (!axes) return pass(axes);
    const DType dtype = c.in[0].dtype;
    const DType result = c.dtype_or(at<Reduce>("out_dtype"), dtype);
    if (auto r = check_fold(c, c.template choice<ReduceKind>(at<Reduce>("kind")),
                            c.dtype_or(at<Reduce>("accum_dtype"), default_accumulator(dtype)), result);
        !r)
      return r;
    return c.give(result, c.reduced(c.in[0].shape, *axes, c.boolean(at<Reduce>("keepdims"))));
  }

  [[nodiscard]] static constexpr bool reduced(const ReduceParams& p, std::size_t axis) noexcept {
    return (p.axes >> axis & 1) != 0;
  }

  /// The fold of `n` neighbours.
  [[nodiscard]] static float fold(ReduceKind kind, const float* x, std::uint64_t n) noexcept {
    Fold<float> result(kind, DType::f32);
    result.take(x, n);
    return result.result();
  }

  static void reference(const HostCall<Reduce>& c, const ExecutionContext& step, const Worker&) noexcept {
    const ReduceParams& p = c.params;
    const RowMajor x(c.in[0], step);
    IndexSpace<1> outer;
    IndexSpace<1> inner;
    for (std::size_t axis = 0; axis < x.rank; ++axis)
      (reduced(p, axis) ? inner : outer).add(x.extent[axis], {x.stride[axis]});
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      T run[kFoldRun];
      for (std::uint64_t y = 0, end = c.out[0].elements(step); y < end; ++y) {
        const std::uint64_t base = outer.offsets(y)[0];
        Fold<T> fold(p.kind, p.accum_dtype);
        for (std::uint64_t first = 0; first < inner.elements(); first += kFoldRun) {
          const std::uint64_t count = std::min(inner.elements() - first, kFoldRun);
          inner.read(0, c.in[0].type.dtype, c.in[0].data, base, first, count, p.accum_dtype, run);
          fold.take(run, count);
        }
        pack_from(p.accum_dtype, fold.result(), p.out_dtype, c.out[0].data, y);
      }
    });
  }

  /// What is the largest or smallest shares the gradient in equal parts.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const auto type = c.in_type(0);
    typename G::Numbers axes;
    auto kept = type.shape;
    for (const std::int64_t word : c.words("axes")) {
      axes.append(c.from_first(word, type.shape.rank));
      kept.dims[static_cast<std::size_t>(axes[axes.count - 1])] = typename G::Dim(1);
    }
    const auto spread = [&](const auto& x) { return b.broadcast_to(c.reshape(x, kept), type.shape); };
    const auto g = c.cotangent_as_input();
    if (c.choice("kind") == "sum") return c.give(0, spread(g));
    const auto extreme = c.extreme_as_input();
    const auto mask = b.eq(c.in(0), spread(extreme));
    const auto share = c.reshape(g, kept) / c.sum(c.ones_where(mask, type.dtype), axes, true);
    c.give(0, b.select(mask, spread(share), b.scalar(type.dtype, 0)));
  }

  /// In plan/c/emit_fold.hpp.
  template <class E> static void emit_c(E& f, const Call<E, Reduce>& c) noexcept { emit_reduce(f, c); }
};
static_assert(Op<Reduce>);

}  // namespace zrt::inline ZRT_ABI::ops
