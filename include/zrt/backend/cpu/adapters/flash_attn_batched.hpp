// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/flash_attn_batched.hpp: attention with the loops of the pages' type.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::FlashAttnBatched> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::FlashAttnBatched>& c) noexcept {
    return r.push(r.kernels().flash_attn, FlashAttnArgs{c, r.kernels().pages_of(c.state.info.dtype)});
  }
};
static_assert(Records<ops::FlashAttnBatched>);

}  // namespace zrt::inline ZRT_ABI::cpu
