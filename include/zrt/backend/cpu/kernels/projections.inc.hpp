// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/projections.inc.hpp: textual fragment: the ops that multiply rows by weights.

/// The outputs of one worker: all activation rows by some weight rows, or, where there are fewer
/// sixteens of weight rows than workers, some activation rows by all weight rows.
struct Share {
  Range n;
  Range t;
};
[[nodiscard]] inline Share share(std::uint32_t weight_rows, std::uint32_t rows, const Worker& worker) noexcept {
  if (weight_rows / 16 >= worker.count || rows == 1) return {split(weight_rows, 16, worker), {0, rows}};
  return {{0, weight_rows}, split(rows, 1, worker)};
}

/// Adds a bias to `count` outputs.
ZRT_ALWAYS_INLINE void add_bias(const float* bias, float* y, std::uint64_t count) noexcept {
  map(y, bias, y, 0, count, [](F32 a, F32 b) noexcept { return a + b; });
}

/// y[t][n] of a projection for one worker's share, bias included.
inline void project_share(const Projection& p, const Activations& x, const Share& mine, float* y) noexcept {
  const auto first = static_cast<std::uint32_t>(mine.n.first);
  const auto last = static_cast<std::uint32_t>(mine.n.last);
  const auto rows = static_cast<std::uint32_t>(mine.t.last - mine.t.first);
  if (first == last || rows == 0) return;
  float* out = y + mine.t.first * p.w.rows + first;
  p.dot(p.w, first, last, x.part(static_cast<std::uint32_t>(mine.t.first), rows), out, p.w.rows);
  if (p.bias == nullptr) return;
  for (std::uint32_t t = 0; t < rows; ++t) add_bias(p.bias + first, out + std::uint64_t{t} * p.w.rows, last - first);
}

inline void linear(const LinearArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const Projection& p = a.projection;
  RowScratch from;
  if (p.act != quant::Act::none) from = rounded_scratch(worker.scratch.data(), rows, cols);
  const Share mine = share(p.w.rows, rows, worker);
  float* y = a.y.as<float>();
  project_share(p, from.activations(a.x.as<float>(), rows, cols), mine, y);
  if (a.scale == 1.0f && a.soft_cap == 0.0f) return;
  const F32 scale = splat(a.scale);
  for (std::uint64_t t = mine.t.first; t < mine.t.last; ++t) {
    float* row = y + t * p.w.rows;
    map(row, row, mine.n.first, mine.n.last, [&](F32 v) noexcept {
      const F32 scaled = a.scale == 1.0f ? v : v * scale;
      return a.soft_cap == 0.0f ? scaled : soft_capped(scaled, a.soft_cap);
    });
  }
}

inline void qkv(const QkvArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const RowScratch from = normed_scratch(worker.scratch.data(), rows, cols);
  for (std::size_t i = 0; i < 3; ++i)
    project_share(a.projections[i], from.activations(from.normed, rows, cols),
                  share(a.projections[i].w.rows, rows, worker), a.y[i].as<float>());
}

inline void gate_up(const GateUpArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const std::uint32_t outputs = a.gate.w.rows;
  const RowScratch from = normed_scratch(worker.scratch.data(), rows, cols);
  const Activations x = from.activations(from.normed, rows, cols);
  const Share mine = share(outputs, rows, worker);
  // `up` waits in a small tile while `gate` lies where the product goes.
  constexpr std::uint32_t kTileElems = 8192;
  constexpr std::uint32_t kTileRows = 128;
  alignas(64) float up[kTileElems];
  for (std::uint64_t t = mine.t.first; t < mine.t.last; t += kTileRows) {
    const auto count = static_cast<std::uint32_t>(mine.t.last - t < kTileRows ? mine.t.last - t : kTileRows);
    const std::uint32_t width = kTileElems / count / 16 * 16;
    const Activations part = x.part(static_cast<std::uint32_t>(t), count);
    for (std::uint64_t n = mine.n.first; n < mine.n.last; n += width) {
      const auto first = static_cast<std::uint32_t>(n);
      const auto last = static_cast<std::uint32_t>(mine.n.last - n < width ? mine.n.last : n + width);
      float* h = a.h.as<float>() + t * outputs + n;
      a.gate.dot(a.gate.w, first, last, part, h, outputs);
      a.up.dot(a.up.w, first, last, part, up, width);
      for (std::uint32_t i = 0; i < count; ++i) {
        float* row = h + std::uint64_t{i} * outputs;
        float* up_row = up + std::uint64_t{i} * width;
        if (a.gate.bias != nullptr) add_bias(a.gate.bias + first, row, last - first);
        if (a.up.bias != nullptr) add_bias(a.up.bias + first, up_row, last - first);
        gate_elements(a.act, row, up_row, row, 0, last - first);
      }
    }
  }
}
