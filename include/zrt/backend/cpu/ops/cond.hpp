// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/cond.hpp: one of two regions, by a truth value.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/region_call.hpp>
#include <zrt/ops/cond.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The first worker runs the region alone, as HostRegion does: which region it is, and what is in it, is known in
/// the step only, and the others meet it at the next fence.
template <> struct Adapter<ops::Cond> {
  static constexpr Loops loops = Loops::control;

  static Result<void> record(Recorder& r, const HostCall<ops::Cond>& c) noexcept { return r.push(&choose, c); }

 private:
  static void choose(const HostCall<ops::Cond>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    if (worker.index != 0) return;
    const HostRegion& region = c.region[*c.in[0].data != std::byte{0} ? 0 : 1];
    for (std::size_t i = 0; i < region.params.size(); ++i) hand_over(c.in[i + 1], region.params[i], step);
    region.run(step, worker);
    for (std::size_t i = 0; i < region.results.size(); ++i) hand_over(region.results[i], c.out[i], step);
  }
};
static_assert(Records<ops::Cond>);

}  // namespace zrt::inline ZRT_ABI::cpu
