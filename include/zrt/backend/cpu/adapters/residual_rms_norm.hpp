// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/residual_rms_norm.hpp: a scaled sum and its norm, row by row.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ResidualRmsNorm> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::ResidualRmsNorm>& c) noexcept {
    return r.push(r.kernels().residual_rms_norm, ResidualRmsNormArgs{c});
  }
};
static_assert(Records<ops::ResidualRmsNorm>);

}  // namespace zrt::inline ZRT_ABI::cpu
