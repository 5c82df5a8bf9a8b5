// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/sample.hpp: one token per row of logits.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Sample> {
  static constexpr Loops loops = Loops::vector;

  /// A copy of the logits and the candidates of each row that is drawn at the same time.
  static constexpr CheckedSize scratch(const TypeCall<ops::Sample>& c, const Extents&) noexcept {
    return sample_bytes(c.in[0].type.shape[1].extent) * CheckedSize(kSampleLanes);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::Sample>& c) noexcept {
    return r.push(r.kernels().sample, SampleArgs{c});
  }
};
static_assert(Records<ops::Sample>);

}  // namespace zrt::inline ZRT_ABI::cpu
