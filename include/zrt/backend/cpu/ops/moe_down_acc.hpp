// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/moe_down_acc.hpp: rows by expert, then the projection of each expert and its part of the sum.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_MOE_DOWN_ACC)
#define ZRT_BACKEND_CPU_OPS_MOE_DOWN_ACC

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/expert_rows.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/ops/moe_down_acc.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

struct MoeDownAccArgs {
  ExpertRows rows{};
  HostTensor weights{};
  HostTensor sum{};
  HostTensor y{};
  Projection down{};
  const float* scale = nullptr;
  std::uint32_t outputs = 0;
};

template <> struct Kernels<ops::MoeDownAcc> {
  exec::HostKernel<ExpertRows> gather = nullptr;
  exec::HostKernel<MoeDownAccArgs> products = nullptr;
};

template <> struct Adapter<ops::MoeDownAcc> {
  static constexpr Loops loops = Loops::vector;

  using Op = ops::MoeDownAcc;

  /// Which pair stands where, and the rows of all pairs in the form that is read.
  static constexpr CheckedSize scratch(const TypeCall<Op>& c, const Extents& bounds) noexcept {
    ExpertRows forms;
    forms.add(c.params.act);
    return expert_scratch_bytes(c.in[1].type.shape.elements(bounds), c.w[0].shape[0].extent,
                                c.in[0].type.shape.last().extent, forms.plain, forms.forms);
  }
  static Result<void> record(Recorder& r, const HostCall<Op>& c, const Kernels<Op>& k) noexcept {
    auto down = r.projection(c.w[0], c.w[1], c.params.act, c.out[0].type.shape.last().extent);
    if (!down) return pass(down);
    MoeDownAccArgs args{
        {c.in[0], c.in[1]}, c.in[2], c.in[3], c.out[0], *down, c.w[2].f32(), c.out[0].type.shape.last().extent};
    args.rows.experts = args.outputs == 0 ? 0 : c.w[0].rows / args.outputs;
    args.rows.of_pairs = true;
    args.rows.add(c.params.act);
    if (auto gathered = r.push(k.gather, args.rows); !gathered) return gathered;
    return r.push(k.products, args);
  }
};
static_assert(Records<ops::MoeDownAcc>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/moe_down_acc.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Outputs are split, so that each is summed by one worker, expert after expert.
inline void moe_down_acc(const MoeDownAccArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range mine = split(a.outputs, 16, worker);
  const std::uint32_t tokens = a.rows.tokens(step);
  const std::uint32_t used = a.rows.used(step);
  const std::size_t bytes = (mine.last - mine.first) * sizeof(float);
  float* y = a.y.as<float>();
  for (std::uint64_t t = 0; t < tokens; ++t) {
    const std::uint64_t at = t * a.outputs + mine.first;
    if (!a.sum.present())
      std::memset(y + at, 0, bytes);
    else if (a.sum.data != a.y.data)
      std::memcpy(y + at, a.sum.as<float>() + at, bytes);
  }
  constexpr std::uint32_t kTileElems = 8192;
  constexpr std::uint32_t kTileRows = 128;
  alignas(64) float tile[kTileElems];
  each_expert(
      a.rows, step, worker, [&](std::uint32_t expert, const Activations& x, const std::uint32_t* pairs) noexcept {
        const std::uint32_t base = expert * a.outputs;
        for (std::uint32_t t = 0; t < x.rows; t += kTileRows) {
          const std::uint32_t count = x.rows - t < kTileRows ? x.rows - t : kTileRows;
          const std::uint32_t width = kTileElems / count / 16 * 16;
          const Activations part = x.part(t, count);
          for (std::uint64_t n = mine.first; n < mine.last; n += width) {
            const auto first = static_cast<std::uint32_t>(n);
            const auto last = static_cast<std::uint32_t>(mine.last - n < width ? mine.last : n + width);
            a.down.multiply(base + first, base + last, part, tile, width);
            for (std::uint32_t i = 0; i < count; ++i) {
              float* row = tile + std::uint64_t{i} * width;
              if (a.down.bias != nullptr) add_bias(a.down.bias + base + first, row, last - first);
              const std::uint32_t pair = pairs[t + i];
              float weight = a.weights.as<float>()[pair];
              if (a.scale != nullptr) weight *= a.scale[expert];
              const F32 factor = splat(weight);
              float* to = y + std::uint64_t{pair / used} * a.outputs + first;
              map(row, to, to, 0, last - first, [&](F32 v, F32 sum) ZRT_UNROLLED { return fma(factor, v, sum); });
            }
          }
        }
      });
}

template <class L>
inline constexpr Kernels<ops::MoeDownAcc> kKernels<ops::MoeDownAcc, L>{.gather = &gather_expert_rows,
                                                                       .products = &moe_down_acc};

#endif
