// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/reshape.hpp: the copy of a value that could not stay where it was.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Reshape> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Reshape>& c) noexcept {
    return r.push(r.kernels().reshape, ReshapeArgs{c});
  }
};
static_assert(Records<ops::Reshape>);

}  // namespace zrt::inline ZRT_ABI::cpu
