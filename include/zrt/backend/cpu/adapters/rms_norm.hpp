// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/rms_norm.hpp: runs of a row, normalised in one pass each.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::RmsNorm> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::RmsNorm>& c) noexcept {
    return r.push(r.kernels().rms_norm, RmsNormArgs{c});
  }
};
static_assert(Records<ops::RmsNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu
