// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rms_norm_fused_rope_kv_write.hpp: norm and rotation of queries and keys, and the page write.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_RMS_NORM_FUSED_ROPE_KV_WRITE)
#define ZRT_BACKEND_CPU_OPS_RMS_NORM_FUSED_ROPE_KV_WRITE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/kernels/pages.hpp>
#include <zrt/backend/cpu/kernels/turns.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/rms_norm_fused_rope_kv_write.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// `frequency` as in RopeArgs.
struct RopeKvWriteArgs {
  HostCall<ops::RmsNormFusedRopeKvWrite> call{};
  const float* frequency = nullptr;
  float magnitude = 1.0f;
};

template <> struct Kernels<ops::RmsNormFusedRopeKvWrite> {
  exec::HostKernel<RopeKvWriteArgs> heads = nullptr;
};

template <> struct Adapter<ops::RmsNormFusedRopeKvWrite> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::RmsNormFusedRopeKvWrite;

  static Result<void> record(Recorder& r, const HostCall<Op>& c,
                             const Kernels<ops::RmsNormFusedRopeKvWrite>& k) noexcept {
    constexpr std::uint32_t kMost = ops::FlashAttnBatched::kMaxHeadDim;
    if (c.params.kv.key_dim > kMost)
      return fail(Errc::unimplemented, "cpu: ", Op::name, ": key_dim is ", c.params.kv.key_dim, ", at most ", kMost,
                  " is computed");
    auto frequency = rope_table(r, c.params.rope, c.w[2]);
    if (!frequency) return pass(frequency);
    return r.push(k.heads, RopeKvWriteArgs{c, *frequency, ops::rope_magnitude(c.params.rope)});
  }
};
static_assert(Records<ops::RmsNormFusedRopeKvWrite>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/rms_norm_fused_rope_kv_write.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Query heads are normed and rotated, key heads too and written, value heads written; heads of all
/// rows are split.
inline void rope_kv_write(const RopeKvWriteArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::RmsNormFusedRopeKvWriteParams& p = a.call.params;
  const ops::RmsNormParams norm = ops::RmsNormFusedRopeKvWrite::norm(p);
  const HostState& state = a.call.state;
  const KvPage page = KvPage::of(state.info);
  const std::uint32_t dim = p.kv.key_dim;
  const std::uint32_t query_heads = a.call.in[0].cols(step) / dim;
  const std::uint32_t heads = query_heads + page.heads;
  const Range part = split(std::uint64_t{a.call.in[0].rows(step)} * heads, 1, worker);
  const float* q_norm = a.call.w[0].f32();
  const float* k_norm = a.call.w[1].f32();
  Turns turns;
  alignas(64) float key[ops::FlashAttnBatched::kMaxHeadDim];
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const std::uint64_t t = unit / heads;
    const auto head = static_cast<std::uint32_t>(unit % heads);
    if (unit == part.first || head == 0)
      turns_at(p.rope, a.frequency, a.magnitude, static_cast<std::uint32_t>(a.call.in[3].as<std::int32_t>()[t]), turns);
    const auto turn = [&](const float* x, const float* weight, float* y) noexcept {
      if (weight != nullptr) norm_run(norm, x, weight, y);
      rotate_head(p.rope, turns, weight != nullptr ? y : x, y);
    };
    if (head < query_heads) {
      const std::uint64_t from = (t * query_heads + head) * dim;
      turn(a.call.in[0].as<float>() + from, q_norm, a.call.out[0].as<float>() + from);
      continue;
    }
    const std::uint32_t kv_head = head - query_heads;
    const PagePlace to = place_of(state, step, t);
    turn(a.call.in[1].as<float>() + (t * page.heads + kv_head) * dim, k_norm, key);
    write_key(page, to.page, kv_head, to.token, key);
    write_value(page, to.page, kv_head, to.token,
                a.call.in[2].as<float>() + (t * page.heads + kv_head) * page.value_dim);
  }
}

template <>
inline constexpr Kernels<ops::RmsNormFusedRopeKvWrite> kKernels<ops::RmsNormFusedRopeKvWrite>{.heads = &rope_kv_write};

#endif
