// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/kv_write_batched.hpp: keys and values into their pages.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::KvWriteBatched> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::KvWriteBatched>& c) noexcept {
    return r.push(r.kernels().kv_write, KvWriteArgs{c});
  }
};
static_assert(Records<ops::KvWriteBatched>);

}  // namespace zrt::inline ZRT_ABI::cpu
