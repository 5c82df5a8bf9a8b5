// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/mla_kv_write.hpp: a token's latent vector and rotated key into their page.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_MLA_KV_WRITE)
#define ZRT_BACKEND_CPU_OPS_MLA_KV_WRITE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/norm.hpp>
#include <zrt/backend/cpu/kernels/pages.hpp>
#include <zrt/backend/cpu/kernels/turns.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/mla_kv_write.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// `frequency` as in RopeArgs.
struct MlaKvWriteArgs {
  HostCall<ops::MlaKvWrite> call{};
  const float* frequency = nullptr;
  float magnitude = 1.0f;
};

template <> struct Kernels<ops::MlaKvWrite> {
  exec::HostKernel<MlaKvWriteArgs> tokens = nullptr;
};

template <> struct Adapter<ops::MlaKvWrite> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::MlaKvWrite>& c,
                             const Kernels<ops::MlaKvWrite>& k) noexcept {
    auto frequency = rope_table(r, c.params.rope, c.w[1]);
    if (!frequency) return pass(frequency);
    return r.push(k.tokens, MlaKvWriteArgs{c, *frequency, ops::rope_magnitude(c.params.rope)});
  }
};
static_assert(Records<ops::MlaKvWrite>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/mla_kv_write.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Rows are split.
inline void mla_kv_write(const MlaKvWriteArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::MlaKvWriteParams& p = a.call.params;
  const KvPage page = KvPage::of(a.call.state.info);
  const std::uint32_t turned = p.rope.head_dim;
  const Range part = split(a.call.in[0].rows(step), 1, worker);
  Turns turns;
  alignas(64) float key[ops::MlaKvWrite::kMaxKeyDim];
  for (std::uint64_t t = part.first; t < part.last; ++t) {
    const float* x = a.call.in[0].as<float>() + t * ops::MlaKvWrite::key_dim(p);
    turns_at(p.rope, a.frequency, a.magnitude, static_cast<std::uint32_t>(a.call.in[1].as<std::int32_t>()[t]), turns);
    rotate_head(p.rope, turns, x + p.latent, key);
    norm_run({p.eps, 0.0f, p.latent}, x, a.call.w[0].f32(), key + turned);
    const PagePlace to = place_of(a.call.state, step, t);
    write_key(page, to.page, 0, to.token, key);
    write_value(page, to.page, 0, to.token, key + turned);
  }
}

template <class L> inline constexpr Kernels<ops::MlaKvWrite> kKernels<ops::MlaKvWrite, L>{.tokens = &mla_kv_write};

#endif
