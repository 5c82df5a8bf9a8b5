// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/segment_reduce.hpp: rows folded by the segment that they belong to.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_runs.hpp>
#include <zrt/ops/segment_reduce.hpp>

#include <algorithm>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::SegmentReduce> {
  static constexpr Loops loops = Loops::typed;

  /// The sums of all segments.
  static constexpr CheckedSize scratch(const TypeCall<ops::SegmentReduce>& c, const Extents& bounds) noexcept {
    Shape shape = c.in[0].type.shape;
    shape.dims[0] = Dim(c.params.num_segments);
    return shape.elements(bounds) * CheckedSize(ops::domain_bytes(c.params.accum_dtype));
  }
  static Result<void> record(Recorder& r, const HostCall<ops::SegmentReduce>& c) noexcept {
    return r.push(&segments, c);
  }

 private:
  /// Elements of y are split; every worker takes its own part of each row.
  static void segments(const HostCall<ops::SegmentReduce>& c, const ExecutionContext& step,
                       const Worker& worker) noexcept {
    const ops::SegmentReduceParams& p = c.params;
    const ops::AxisSplit rows(c.in[0], 0, step);
    const Range part = split(c.out[0].elements(step), 64, worker);
    bool violated = false;
    visit_domain(p.accum_dtype, [&]<class T>(std::type_identity<T>) {
      T* sums = reinterpret_cast<T*>(worker.scratch.data());
      std::fill(sums + part.first, sums + part.last, ops::identity<T>(p.kind, p.accum_dtype));
      for (std::uint64_t row = 0; row < rows.extent; ++row) {
        const std::uint64_t segment = ops::index_at(c.in[1], row);
        if (segment >= p.num_segments) {
          violated = true;
          continue;
        }
        const std::uint64_t begin = segment * rows.inner;
        const std::uint64_t first = std::max(begin, part.first);
        const std::uint64_t last = std::min(begin + rows.inner, part.last);
        T run[kTypedRun];
        for (std::uint64_t at = first; at < last; at += kTypedRun) {
          const std::uint64_t count = std::min(last - at, kTypedRun);
          read_as(c.in[0].type.dtype, c.in[0].data, row * rows.inner + (at - begin), count, p.accum_dtype, run);
          for (std::uint64_t i = 0; i < count; ++i) sums[at + i] = ops::fold(p.kind, sums[at + i], run[i]);
        }
      }
      const DType dtype = c.out[0].type.dtype;
      if (part.first != part.last)
        write_accumulated(p.accum_dtype, sums + part.first, part.last - part.first, dtype,
                          c.out[0].data + bytes_of(dtype, part.first));
    });
    if (violated) step.violated(worker);
  }
};
static_assert(Records<ops::SegmentReduce>);

}  // namespace zrt::inline ZRT_ABI::cpu
