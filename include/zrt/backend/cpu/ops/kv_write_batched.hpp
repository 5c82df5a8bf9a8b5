// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/kv_write_batched.hpp: keys and values into their pages.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_KV_WRITE_BATCHED)
#define ZRT_BACKEND_CPU_OPS_KV_WRITE_BATCHED

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/pages.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/kv_write_batched.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

template <> struct Kernels<ops::KvWriteBatched> {
  exec::HostKernel<HostCall<ops::KvWriteBatched>> heads = nullptr;
};

template <> struct Adapter<ops::KvWriteBatched> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::KvWriteBatched>& c,
                             const Kernels<ops::KvWriteBatched>& k) noexcept {
    return r.push(k.heads, c);
  }
};
static_assert(Records<ops::KvWriteBatched>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/kv_write_batched.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Heads of all rows are split.
inline void kv_write(const HostCall<ops::KvWriteBatched>& c, const ExecutionContext& step,
                     const Worker& worker) noexcept {
  const HostState& state = c.state;
  const KvPage page = KvPage::of(state.info);
  const Range part = split(std::uint64_t{c.in[0].rows(step)} * page.heads, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const auto head = static_cast<std::uint32_t>(unit % page.heads);
    const PagePlace to = place_of(state, step, unit / page.heads);
    write_key(page, to.page, head, to.token, c.in[0].as<float>() + unit * page.key_dim);
    write_value(page, to.page, head, to.token, c.in[1].as<float>() + unit * page.value_dim);
  }
}

template <> inline constexpr Kernels<ops::KvWriteBatched> kKernels<ops::KvWriteBatched>{.heads = &kv_write};

#endif
