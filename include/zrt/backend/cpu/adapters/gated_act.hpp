// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/gated_act.hpp: the activation of a gated block.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::GatedAct> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::GatedAct>& c) noexcept {
    return r.push(r.kernels().gated_act, GatedActArgs{c});
  }
};
static_assert(Records<ops::GatedAct>);

}  // namespace zrt::inline ZRT_ABI::cpu
