// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/scatter_reduce.hpp: updates combined into places along an axis.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/box_copy.hpp>
#include <zrt/backend/cpu/indexed_places.hpp>
#include <zrt/backend/cpu/scatter_share.hpp>
#include <zrt/ops/scatter_reduce.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ScatterReduce> {
  static constexpr Loops loops = Loops::scalar;

  static constexpr CheckedSize scratch(const TypeCall<ops::ScatterReduce>& c, const Extents& bounds) noexcept {
    return c.params.reduce == ops::ScatterKind::replace ? CheckedSize(0) : ops::scatter_scratch(c.in[0].type, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::ScatterReduce>& c) noexcept {
    if (c.params.reduce != ops::ScatterKind::replace) return r.push(&scatter, c);
    if (c.in[0].data != c.out[0].data)
      if (auto copied = r.push(&copy, c); !copied) return copied;
    return r.push(&replace, c);
  }

 private:
  /// Calls `put(i, place)` for every update with a place.
  template <class Put>
  static void each_update(const HostCall<ops::ScatterReduce>& c, const ExecutionContext& step, const Worker& worker,
                          Put&& put) noexcept {
    bool violated = false;
    for_each_indexed(c.in[0], c.in[1], c.params.axis, step, 0, c.in[1].elements(step),
                     [&](std::uint64_t i, std::uint64_t place) {
                       violated = violated || place == ops::kNowhere;
                       if (place != ops::kNowhere) put(i, place);
                     });
    if (violated) step.violated(worker);
  }
  static void scatter(const HostCall<ops::ScatterReduce>& c, const ExecutionContext& step,
                      const Worker& worker) noexcept {
    scatter_share(c.params.reduce, c.in[0], c.in[2], c.out[0], step, worker,
                  [&](auto&& put) { each_update(c, step, worker, put); });
  }
  static void copy(const HostCall<ops::ScatterReduce>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    copy_all(c.in[0].type.dtype, c.in[0].data, c.out[0].data, c.in[0].elements(step), step, worker);
  }
  /// Elements of y are split; every worker goes through all updates and takes those of its own.
  static void replace(const HostCall<ops::ScatterReduce>& c, const ExecutionContext& step,
                      const Worker& worker) noexcept {
    const Range part = split(c.out[0].elements(step), 64, worker);
    each_update(c, step, worker, [&](std::uint64_t i, std::uint64_t place) {
      if (place - part.first < part.last - part.first)
        copy_elements(c.in[0].type.dtype, c.in[2].data, i, c.out[0].data, place, 1);
    });
  }
};
static_assert(Records<ops::ScatterReduce>);

}  // namespace zrt::inline ZRT_ABI::cpu
