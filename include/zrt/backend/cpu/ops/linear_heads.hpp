// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/linear_heads.hpp: rows put in order by head, rounded, then each head's rows times its matrix.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_LINEAR_HEADS)
#define ZRT_BACKEND_CPU_OPS_LINEAR_HEADS

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/backend/cpu/kernels/round.hpp>
#include <zrt/ops/linear_heads.hpp>

#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

struct LinearHeadsArgs {
  HostTensor x{};
  HostTensor y{};
  Projection projection{};
  std::uint32_t heads = 0;
  std::uint32_t pass = 0;
};

template <> struct Kernels<ops::LinearHeads> {
  exec::HostKernel<LinearHeadsArgs> order = nullptr;
  exec::HostKernel<LinearHeadsArgs> product = nullptr;
};

template <> struct Adapter<ops::LinearHeads> {
  static constexpr Loops loops = Loops::vector;

  /// The heads' rows in order, and what they are rounded to.
  static constexpr CheckedSize scratch(const TypeCall<ops::LinearHeads>& c, const Extents& bounds) noexcept {
    const CheckedSize rows = row_count(c.in[0].type.shape, bounds) * CheckedSize(c.params.heads);
    const std::uint32_t cols = c.w[0].shape.last().extent;
    return normed_bytes(rows, cols) + (c.params.act == quant::Act::none ? CheckedSize(0) : rounded_bytes(rows, cols));
  }
  static Result<void> record(Recorder& r, const HostCall<ops::LinearHeads>& c,
                             const Kernels<ops::LinearHeads>& k) noexcept {
    auto projection = r.projection(c.w[0], {}, c.params.act, c.w[0].rows / c.params.heads);
    if (!projection) return pass(projection);
    const LinearHeadsArgs args{c.in[0], c.out[0], *projection, c.params.heads, c.params.pass};
    if (auto ordered = r.push(k.order, args); !ordered) return ordered;
    return r.push(k.product, args);
  }
};
static_assert(Records<ops::LinearHeads>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/linear_heads.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Copies each head's rows behind each other and rounds them; copies what passes. Heads of all rows are split.
inline void order_heads(const LinearHeadsArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.projection.w.cols;
  const std::uint32_t outputs = a.projection.w.rows / a.heads;
  const RowScratch to = normed_scratch(worker.scratch.data(), rows * a.heads, cols);
  const Range part = split(std::uint64_t{rows} * a.heads, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last; ++unit) {
    const std::uint64_t t = unit % rows;
    const std::uint64_t head = unit / rows;
    const float* x = a.x.as<float>() + (t * a.heads + head) * (cols + a.pass);
    float* ordered = to.normed + unit * cols;
    std::memcpy(ordered, x, cols * sizeof(float));
    std::memcpy(a.y.as<float>() + (t * a.heads + head) * (a.pass + outputs), x + cols, a.pass * sizeof(float));
    if (a.projection.act == quant::Act::q8_32)
      round_groups(to.normed, unit * (cols / kGroup), (unit + 1) * (cols / kGroup), to);
    else if (a.projection.act == quant::Act::q8_256)
      round_wide_groups(to.normed, unit * (cols / kWideGroup), (unit + 1) * (cols / kWideGroup), to);
  }
}

/// Sixteens of all heads' outputs are split.
inline void linear_heads(const LinearHeadsArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const Projection& p = a.projection;
  const std::uint32_t outputs = p.w.rows / a.heads;
  const RowScratch from = normed_scratch(worker.scratch.data(), rows * a.heads, p.w.cols);
  const Activations all = from.activations(from.normed, rows * a.heads, p.w.cols);
  const std::uint32_t pieces = (outputs + 15) / 16;
  const Range part = split(std::uint64_t{a.heads} * pieces, 1, worker);
  for (std::uint64_t unit = part.first; unit < part.last;) {
    const auto head = static_cast<std::uint32_t>(unit / pieces);
    const std::uint64_t next = std::uint64_t{head + 1u} * pieces;
    const std::uint64_t end = next < part.last ? next : part.last;
    const auto first = static_cast<std::uint32_t>(unit % pieces * 16);
    const std::uint64_t past = (end - std::uint64_t{head} * pieces) * 16;
    const std::uint32_t last = past < outputs ? static_cast<std::uint32_t>(past) : outputs;
    p.multiply(head * outputs + first, head * outputs + last, all.part(head * rows, rows),
               a.y.as<float>() + std::uint64_t{head} * (a.pass + outputs) + a.pass + first,
               std::uint64_t{a.heads} * (a.pass + outputs));
    unit = end;
  }
}

template <class L>
inline constexpr Kernels<ops::LinearHeads> kKernels<ops::LinearHeads, L>{.order = &order_heads,
                                                                         .product = &linear_heads};

#endif
