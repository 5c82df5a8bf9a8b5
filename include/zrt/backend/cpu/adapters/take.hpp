// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/take.hpp: rows chosen by index.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Take> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Take>& c) noexcept {
    return r.push(r.kernels().take, TakeArgs{c});
  }
};
static_assert(Records<ops::Take>);

}  // namespace zrt::inline ZRT_ABI::cpu
