// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/rope.hpp: rotation by a table of frequencies that is computed here.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Rope> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Rope>& c) noexcept {
    auto frequency = rope_table(r, c.params, c.w[0]);
    if (!frequency) return pass(frequency);
    return r.push(r.kernels().rope, RopeArgs{c, *frequency, ops::rope_magnitude(c.params)});
  }
};
static_assert(Records<ops::Rope>);

}  // namespace zrt::inline ZRT_ABI::cpu
