// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/embedding.hpp: rows of an embedding table.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::Embedding> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Embedding>& c) noexcept {
    auto table = r.kernels_of(c.w[0]);
    if (!table) return pass(table);
    return r.push(r.kernels().embedding, EmbeddingArgs{c, (*table)->widen});
  }
};
static_assert(Records<ops::Embedding>);

}  // namespace zrt::inline ZRT_ABI::cpu
