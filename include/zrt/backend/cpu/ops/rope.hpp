// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/rope.hpp: rotation by a table of frequencies that is computed here.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_ROPE)
#define ZRT_BACKEND_CPU_OPS_ROPE

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/turns.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/ops/rope.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// `frequency` holds n_rot / 2 angles per position, padded to whole lanes.
struct RopeArgs {
  HostCall<ops::Rope> call{};
  const float* frequency = nullptr;
  float magnitude = 1.0f;
};

template <> struct Kernels<ops::Rope> {
  exec::HostKernel<RopeArgs> heads = nullptr;
};

template <> struct Adapter<ops::Rope> {
  static constexpr Loops loops = Loops::vector;

  static Result<void> record(Recorder& r, const HostCall<ops::Rope>& c, const Kernels<ops::Rope>& k) noexcept {
    auto frequency = rope_table(r, c.params, c.w[0]);
    if (!frequency) return pass(frequency);
    return r.push(k.heads, RopeArgs{c, *frequency, ops::rope_magnitude(c.params)});
  }
};
static_assert(Records<ops::Rope>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/rope.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Heads of all rows are split.
inline void rope(const RopeArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::RopeParams& p = a.call.params;
  const std::uint32_t heads = a.call.in[0].cols(step) / p.head_dim;
  const Range part = split(std::uint64_t{a.call.in[0].rows(step)} * heads, 1, worker);
  Turns turns;
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const std::uint64_t t = unit / heads;
    if (unit == part.first || unit % heads == 0)
      turns_at(p, a.frequency, a.magnitude, static_cast<std::uint32_t>(a.call.in[1].as<std::int32_t>()[t]), turns);
    rotate_head(p, turns, a.call.in[0].as<float>() + unit * p.head_dim, a.call.out[0].as<float>() + unit * p.head_dim);
  }
}

template <> inline constexpr Kernels<ops::Rope> kKernels<ops::Rope>{.heads = &rope};

#endif
