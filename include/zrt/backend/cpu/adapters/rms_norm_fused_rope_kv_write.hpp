// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/adapters/rms_norm_fused_rope_kv_write.hpp: norm and rotation of queries and keys, and the page write.
#pragma once

#include <zrt/backend/cpu/adapter.hpp>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Adapter<ops::RmsNormFusedRopeKvWrite> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::RmsNormFusedRopeKvWrite;

  static Result<void> record(Recorder& r, const HostCall<Op>& c) noexcept {
    constexpr std::uint32_t kMost = ops::FlashAttnBatched::kMaxHeadDim;
    if (c.params.kv.key_dim > kMost)
      return fail(Errc::unimplemented, "cpu: ", Op::name, ": key_dim is ", c.params.kv.key_dim, ", at most ", kMost,
                  " is computed");
    auto frequency = rope_table(r, c.params.rope, c.w[2]);
    if (!frequency) return pass(frequency);
    return r.push(r.kernels().rope_kv_write, RopeKvWriteArgs{c, *frequency, ops::rope_magnitude(c.params.rope)});
  }
};
static_assert(Records<ops::RmsNormFusedRopeKvWrite>);

}  // namespace zrt::inline ZRT_ABI::cpu
