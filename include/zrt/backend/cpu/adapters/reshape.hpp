// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/reshape.hpp: another shape over the same memory, or a copy.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Reshape> {
  static Result<void> record(Recorder& r, const HostCall<ops::Reshape>& c) noexcept {
    if (c.in[0].data == c.out[0].data) return {};
    return r.push(r.kernels().reshape, ReshapeArgs{c});
  }
};
static_assert(Records<ops::Reshape>);

}  // namespace zrt::inline ZRT_ABI::cpu
