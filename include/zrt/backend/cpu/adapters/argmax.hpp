// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/argmax.hpp: the most likely token of each row.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Argmax> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Argmax>& c) noexcept {
    return r.push(r.kernels().argmax, ArgmaxArgs{c});
  }
};
static_assert(Records<ops::Argmax>);

}  // namespace zrt::inline ZRT_ABI::cpu
