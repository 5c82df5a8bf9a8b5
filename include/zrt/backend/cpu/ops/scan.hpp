// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/scan.hpp: a region for each slice of its inputs.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/region_call.hpp>
#include <zrt/ops/scan.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The first worker runs the region alone, as HostRegion does: how often is known in the step only.
template <> struct Adapter<ops::Scan> {
  static constexpr Loops loops = Loops::control;

  static Result<void> record(Recorder& r, const HostCall<ops::Scan>& c) noexcept { return r.push(&slices, c); }

 private:
  static void slices(const HostCall<ops::Scan>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    if (worker.index != 0) return;
    const HostRegion& body = c.region[0];
    const std::size_t carries = c.params.carry_count;
    const std::uint32_t length = step.extents.of(c.in[carries].type.shape[0]);
    for (std::size_t i = 0; i < carries; ++i) hand_over(c.in[i], c.out[i], step);
    for (std::uint32_t t = 0; t < length; ++t) {
      if (step.stopped()) return step.violated(worker, Errc::cancelled);
      for (std::size_t i = 0; i < body.params.size(); ++i)
        hand_over(i < carries ? c.out[i] : c.in[i], i < carries ? 0 : t, body.params[i], 0,
                  body.params[i].elements(step));
      body.run(step, worker);
      for (std::size_t i = 0; i < body.results.size(); ++i)
        hand_over(body.results[i], 0, c.out[i], i < carries ? 0 : t, body.results[i].elements(step));
    }
  }
};
static_assert(Records<ops::Scan>);

}  // namespace zrt::inline ZRT_ABI::cpu
