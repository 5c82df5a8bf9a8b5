// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/ops/lora_add.hpp: rows down to the rank of their adapters, then up, onto what they were.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_OPS_LORA_ADD)
#define ZRT_BACKEND_CPU_OPS_LORA_ADD

#include <zrt/backend/cpu/adapter.hpp>
#include <zrt/backend/cpu/kernels/projection.hpp>
#include <zrt/backend/cpu/scratch.hpp>
#include <zrt/ops/lora_add.hpp>

#include <cstdint>
#include <cstring>

namespace zrt::inline ZRT_ABI::cpu {

struct LoraArgs {
  HostCall<ops::LoraAdd> call{};
  DotRows dot = nullptr;
};

template <> struct Kernels<ops::LoraAdd> {
  exec::HostKernel<LoraArgs> down = nullptr, up = nullptr;
};

template <> struct Adapter<ops::LoraAdd> {
  static constexpr Loops loops = Loops::vector;

  /// What the rows are at the rank of their adapters.
  static constexpr CheckedSize scratch(const TypeCall<ops::LoraAdd>& c, const Extents& bounds) noexcept {
    return normed_bytes(row_count(c.in[0].type.shape, bounds), c.w[1].shape.last().extent);
  }
  static Result<void> record(Recorder& r, const HostCall<ops::LoraAdd>& c, const Kernels<ops::LoraAdd>& k) noexcept {
    auto weights = r.kernels_of(c.w[0]);
    if (!weights) return pass(weights);
    const LoraArgs args{c, (*weights)->dot};
    if (auto down = r.push(k.down, args); !down) return down;
    return r.push(k.up, args);
  }
};
static_assert(Records<ops::LoraAdd>);

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/ops/lora_add.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Calls `run(first, count, adapter)` for the runs of rows in `rows` that name one adapter, at most `most` at once. Rows
/// without one are left out.
template <class Run>
void for_each_adapter(const LoraArgs& a, const Range& rows, std::uint32_t most, const ExecutionContext& step,
                      const Worker& worker, const Run& run) noexcept {
  const auto last = static_cast<std::uint32_t>(rows.last);
  std::uint32_t count = 0;
  for (auto t = static_cast<std::uint32_t>(rows.first); t < last; t += count) {
    count = 1;
    const std::int32_t adapter = ops::LoraAdd::adapter_of(a.call, t, step, worker);
    if (adapter == ops::LoraAdd::kNone) continue;
    const std::int32_t* ids = a.call.in[2].as<std::int32_t>();
    while (count < most && t + count < last && ids[t + count] == adapter) ++count;
    run(t, count, static_cast<std::uint32_t>(adapter));
  }
}

/// `rows` of plain activations from row `first` on.
[[nodiscard]] inline Activations plain_rows(const float* x, std::uint32_t first, std::uint32_t rows,
                                            std::uint32_t cols) noexcept {
  Activations part;
  part.x = x + std::uint64_t{first} * cols;
  part.rows = rows;
  part.cols = cols;
  return part;
}

/// down[a] x of each row, into the scratch.
inline void lora_down(const LoraArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const HostWeight& w = a.call.w[0];
  const std::uint32_t rank = a.call.w[1].cols;
  const Share mine = share(rank, a.call.in[0].rows(step), worker);
  const auto first = static_cast<std::uint32_t>(mine.n.first), last = static_cast<std::uint32_t>(mine.n.last);
  if (first == last) return;
  auto* hidden = reinterpret_cast<float*>(worker.scratch.data());
  for_each_adapter(a, mine.t, ~0u, step, worker, [&](std::uint32_t t, std::uint32_t rows, std::uint32_t adapter) {
    a.dot(w, adapter * rank + first, adapter * rank + last, plain_rows(a.call.in[0].as<float>(), t, rows, w.cols),
          hidden + std::uint64_t{t} * rank + first, rank);
  });
}

/// Copies a worker's share of y where the sum lies elsewhere.
inline void copy_share(const HostCall<ops::LoraAdd>& c, const Share& mine, std::uint64_t cols) noexcept {
  const float* y = c.in[1].as<float>();
  float* sum = c.out[0].as<float>();
  if (sum == y) return;
  for (std::uint64_t t = mine.t.first; t < mine.t.last; ++t)
    std::memcpy(sum + t * cols + mine.n.first, y + t * cols + mine.n.first,
                (mine.n.last - mine.n.first) * sizeof(float));
}

/// y + up[a] h of each row. Products wait in a tile of 4 KiB until they are added.
inline void lora_up(const LoraArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  constexpr std::uint32_t kRows = 16, kCols = 64;
  const HostWeight& w = a.call.w[1];
  const std::uint32_t outputs = a.call.in[1].cols(step);
  const Share mine = share(outputs, a.call.in[0].rows(step), worker);
  copy_share(a.call, mine, outputs);
  const auto end = static_cast<std::uint32_t>(mine.n.last);
  const auto* hidden = reinterpret_cast<const float*>(worker.scratch.data());
  float* sum = a.call.out[0].as<float>();
  for_each_adapter(a, mine.t, kRows, step, worker, [&](std::uint32_t t, std::uint32_t rows, std::uint32_t adapter) {
    float tile[kRows * kCols];
    for (auto n = static_cast<std::uint32_t>(mine.n.first); n < end; n += kCols) {
      const std::uint32_t cols = end - n < kCols ? end - n : kCols;
      a.dot(w, adapter * outputs + n, adapter * outputs + n + cols, plain_rows(hidden, t, rows, w.cols), tile, kCols);
      for (std::uint32_t i = 0; i < rows; ++i)
        add_bias(tile + std::size_t{i} * kCols, sum + std::uint64_t{t + i} * outputs + n, cols);
    }
  });
}

template <> inline constexpr Kernels<ops::LoraAdd> kKernels<ops::LoraAdd>{.down = &lora_down, .up = &lora_up};

#endif
