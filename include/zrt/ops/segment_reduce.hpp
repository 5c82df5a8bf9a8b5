// SPDX-License-Identifier: Apache-2.0
// zrt/ops/segment_reduce.hpp: rows folded into the buckets that ids name.
#pragma once

#include <zrt/ops/accumulate.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/data_fault.hpp>
#include <zrt/ops/index_operand.hpp>
#include <zrt/ops/row_major.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct SegmentReduceParams {
  std::uint32_t num_segments = 0;
  ReduceKind kind = ReduceKind::sum;
  DType accum_dtype = DType::f32;
  std::uint8_t indices_are_sorted = 0;  ///< a promise that a kernel may use
  std::uint8_t unique = 0;              ///< a promise that a kernel may use

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields =
      field_list(Member{&SegmentReduceParams::num_segments, "num_segments"}, Member{&SegmentReduceParams::kind, "kind"},
                 Member{&SegmentReduceParams::accum_dtype, "accum_dtype"},
                 Member{&SegmentReduceParams::indices_are_sorted, "indices_are_sorted"},
                 Member{&SegmentReduceParams::unique, "unique"});
};

/// Folds the rows of x whose id is s into row s of the result; a segment without rows holds the
/// identity (PTIR `SegmentReduce`). x [rows, ...] of a computed type, segment_ids si32 or si64 [rows].
///
/// Elements are cast to accum_dtype and folded in its domain; the result is rounded to it once and
/// cast to x's type. Sums add up in the order of the rows, from +0. An id outside [0, num_segments)
/// reports Errc::spec_violation in the step's status; its row is left out.
struct SegmentReduce {
  using Params = SegmentReduceParams;
  static constexpr Opcode opcode{99};
  static constexpr std::string_view name = "segment_reduce";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}, Role{"segment_ids"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(
      attribute::choice("kind", &Params::kind, kReduceNames), attribute::number("num_segments", &Params::num_segments),
      attribute::dtype("accum_dtype", &Params::accum_dtype, DTypeDefault::accumulator),
      attribute::boolean("indices_are_sorted", &Params::indices_are_sorted),
      attribute::boolean("unique", &Params::unique));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    BasicShape<D> shape = c.in[0].shape;
    const std::int64_t segments = c.integer(at<SegmentReduce>("num_segments"));
    if (auto r = c.indices(1); !r) return r;
    if (shape.rank == 0) return c.wrong(Errc::shape_mismatch, 0, "at least one axis");
    D both;
    if (c.in[1].shape.rank != 1 || !unify(c.in[1].shape[0], shape[0], both))
      return c.wrong(Errc::shape_mismatch, 1, "one id for each row of x");
    if (segments < 0) return c.no(Errc::invalid_params, "num_segments is ", segments, ", expected 0 or more");
    const DType dtype = c.in[0].dtype;
    if (auto r = check_fold(c, c.template choice<ReduceKind>(at<SegmentReduce>("kind")),
                            c.dtype_or(at<SegmentReduce>("accum_dtype"), default_accumulator(dtype)), dtype);
        !r)
      return r;
    shape.dims[0] = D::of(static_cast<std::uint64_t>(segments));
    return c.give(dtype, shape);
  }

  static constexpr CheckedSize reference_scratch(const TypeCall<SegmentReduce>& c, const Extents& bounds) noexcept {
    Shape shape = c.in[0].type.shape;
    shape.dims[0] = Dim(c.params.num_segments);
    return shape.elements(bounds) * CheckedSize(domain_bytes(c.params.accum_dtype));
  }

  static void reference(const HostCall<SegmentReduce>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const Params& p = c.params;
    const AxisSplit rows(c.in[0], 0, step);
    for (std::uint64_t row = 0; row < rows.extent; ++row)
      if (index_at(c.in[1], row) >= p.num_segments) step.violated(worker);
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      const std::uint64_t elements = c.out[0].elements(step);
      T* sums = reinterpret_cast<T*>(worker.scratch.data());
      std::fill_n(sums, elements, identity<T>(p.kind, p.accum_dtype));
      for_each_cast<T>(c.in[0].type.dtype, c.in[0].data, rows.extent * rows.inner, p.accum_dtype,
                       [&](std::uint64_t i, T x) {
                         const std::uint64_t segment = index_at(c.in[1], i / rows.inner);
                         if (segment >= p.num_segments) return;
                         T& sum = sums[segment * rows.inner + i % rows.inner];
                         sum = fold(p.kind, sum, x);
                       });
      store_accumulated(p.accum_dtype, sums, elements, c.out[0].type.dtype, c.out[0].data);
    });
  }

  [[nodiscard]] static std::optional<DataFault> find_fault(const HostCall<SegmentReduce>& c,
                                                           const ExecutionContext& step) noexcept {
    return first_outside(c.in[1], step, 1, c.params.num_segments);
  }

  /// What is the largest or smallest of its segment shares the gradient in equal parts.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const auto g = c.cotangent(), ids = c.in(1);
    if (c.choice("kind") == "sum") return c.give(0, b.take(g, ids));
    const auto mask = b.eq(c.in(0), b.take(c.extreme_as_input(), ids));
    const auto count = b.segment_reduce(G::choice_of(name, "kind", "sum"), c.ones_where(mask, g.dtype()), ids,
                                        c.integer("num_segments"));
    c.give(0, b.select(mask, b.take(g, ids) / b.take(count, ids), b.scalar(g.dtype(), 0)));
  }

  static constexpr bool emit_c_scratch = true;

  /// In plan/c/emit_fold.hpp.
  template <class E> static void emit_c(E& f, const Call<E, SegmentReduce>& c) noexcept { emit_segment_reduce(f, c); }
};
static_assert(Op<SegmentReduce> && HasReferenceScratch<SegmentReduce>);

}  // namespace zrt::inline ZRT_ABI::ops
