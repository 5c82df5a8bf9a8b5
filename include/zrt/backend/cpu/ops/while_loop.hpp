// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/while_loop.hpp: a region again and again while another says so.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/region_call.hpp>
#include <zrt/ops/while_loop.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// The first worker runs the regions alone, as HostRegion does: how often is known in the step only.
template <> struct Adapter<ops::WhileLoop> {
  static constexpr Loops loops = Loops::control;

  static Result<void> record(Recorder& r, const HostCall<ops::WhileLoop>& c) noexcept { return r.push(&repeat, c); }

 private:
  static void repeat(const HostCall<ops::WhileLoop>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    if (worker.index != 0) return;
    const HostRegion& proceed = c.region[0];
    const HostRegion& body = c.region[1];
    for (std::size_t i = 0; i < c.in.size(); ++i) hand_over(c.in[i], proceed.params[i], step);
    proceed.run(step, worker);
    for (std::uint64_t trips = 0; *proceed.results[0].data != std::byte{0}; ++trips) {
      if (trips == c.params.trip_limit || step.stopped()) {
        step.violated(worker, trips == c.params.trip_limit ? Errc::limit_exceeded : Errc::cancelled);
        break;
      }
      for (std::size_t i = 0; i < body.params.size(); ++i) hand_over(proceed.results[i + 1], body.params[i], step);
      body.run(step, worker);
      for (std::size_t i = 0; i < body.results.size(); ++i) hand_over(body.results[i], proceed.params[i], step);
      proceed.run(step, worker);
    }
    for (std::size_t i = 0; i < c.out.size(); ++i) hand_over(proceed.results[i + 1], c.out[i], step);
  }
};
static_assert(Records<ops::WhileLoop>);

}  // namespace zrt::inline ZRT_ABI::cpu
