// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/softmax.hpp: normalised exponentials.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Softmax> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Softmax>& c) noexcept {
    return r.push(r.kernels().softmax, SoftmaxArgs{c});
  }
};
static_assert(Records<ops::Softmax>);

}  // namespace zrt::inline ZRT_ABI::cpu
