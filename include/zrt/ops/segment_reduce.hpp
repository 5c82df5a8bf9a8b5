// SPDX-License-Identifier: Apache-2.0
// zrt/ops/segment_reduce.hpp: rows folded into the buckets that ids name.
#pragma once

#include <zrt/ops/accumulate.hpp>
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

  static constexpr Result<void> infer(const TypeCall<SegmentReduce>& c, OutputTypes<SegmentReduce>& out) noexcept {
    if (auto r = expect_computed<SegmentReduce>(c.in[0], "x"); !r) return r;
    if (auto r = expect_indices<SegmentReduce>(c.in[1], "segment_ids"); !r) return r;
    const TensorType& x = c.in[0].type;
    if (auto r = expect_fold<SegmentReduce>(c.params.kind, c.params.accum_dtype, x.dtype); !r) return r;
    if (c.params.indices_are_sorted > 1 || c.params.unique > 1)
      return bad_params<SegmentReduce>("indices_are_sorted or unique is neither 0 nor 1");
    if (x.shape.rank == 0) return bad_shape<SegmentReduce>("x", "at least one axis", x.shape);
    if (!(c.in[1].type.shape == Shape{x.shape[0]}))
      return bad_shape<SegmentReduce>("segment_ids", "one id for each row of x", c.in[1].type.shape);
    out[0] = x;
    out[0].shape.dims[0] = Dim(c.params.num_segments);
    return {};
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
};
static_assert(Op<SegmentReduce> && HasReferenceScratch<SegmentReduce>);

}  // namespace zrt::inline ZRT_ABI::ops
