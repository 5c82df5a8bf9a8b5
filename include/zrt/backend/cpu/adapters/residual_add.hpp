// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/residual_add.hpp: a scaled sum.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::ResidualAdd> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::ResidualAdd>& c) noexcept {
    return r.push(r.kernels().residual_add, ResidualAddArgs{c});
  }
};
static_assert(Records<ops::ResidualAdd>);

}  // namespace zrt::inline ZRT_ABI::cpu
