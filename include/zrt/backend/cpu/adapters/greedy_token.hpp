// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/greedy_token.hpp: the most likely token of each row.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::GreedyToken> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::GreedyToken>& c) noexcept {
    return r.push(r.kernels().greedy_token, GreedyTokenArgs{c});
  }
};
static_assert(Records<ops::GreedyToken>);

}  // namespace zrt::inline ZRT_ABI::cpu
