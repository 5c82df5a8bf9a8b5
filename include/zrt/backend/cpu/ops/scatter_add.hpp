// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/scatter_add.hpp: windows added at places that indices name.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/scatter_share.hpp>
#include <zrt/ops/scatter_add.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ScatterAdd> {
  static constexpr Loops loops = Loops::scalar;

  static constexpr CheckedSize scratch(const TypeCall<ops::ScatterAdd>& c, const Extents& bounds) noexcept {
    return ops::scatter_scratch(c.in[0].type, bounds);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::ScatterAdd>& c) noexcept { return r.push(&scatter, c); }

 private:
  /// Elements of x are split. The place of a run of updates along the window is found once.
  static void scatter(const HostCall<ops::ScatterAdd>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const ops::ScatterAdd::Windows windows(c, step);
    ops::RowMajor runs = windows.updates;
    if (runs.elements == 0)
      return scatter_share(ops::ScatterKind::add, c.in[0], c.in[2], c.out[0], step, worker, [](auto&&) {});
    std::uint64_t run = 1;
    std::uint64_t stride = 0;
    if (runs.rank != 0 && windows.in_window(runs.rank - 1u)) {
      stride = windows.stride(--runs.rank);
      run = runs.extent[runs.rank];
    }
    scatter_share(ops::ScatterKind::add, c.in[0], c.in[2], c.out[0], step, worker, [&](auto&& put) {
      ops::ElementIndex index;
      bool violated = false;
      for (std::uint64_t i = 0; i < runs.elements; i += run, index.advance(runs)) {
        const std::uint64_t place = windows.place(index);
        violated = violated || place == ops::kNowhere;
        if (place != ops::kNowhere)
          for (std::uint64_t j = 0; j < run; ++j) put(i + j, place + j * stride);
      }
      if (violated) step.violated(worker);
    });
  }
};
static_assert(Records<ops::ScatterAdd>);

}  // namespace zrt::inline ZRT_ABI::cpu
