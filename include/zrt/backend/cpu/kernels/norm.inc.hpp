// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/norm.inc.hpp: textual fragment: root-mean-square norm, alone and before a projection.

/// Normalises one run; y may be x.
ZRT_NOINLINE inline void norm_run(const ops::RmsNormParams& p, const float* x, const float* weight, float* y) noexcept {
  F32 sum = splat(0.0f);
  std::uint32_t i = 0;
  for (; i + 16 <= p.dim; i += 16) {
    const F32 v = load(x + i);
    sum = fma(v, v, sum);
  }
  if (i < p.dim) {
    const F32 v = load_first(x + i, p.dim - i);
    sum = fma(v, v, sum);
  }
  const float mean = reduce_tree(sum) / static_cast<float>(p.dim);
  const F32 scale = splat(1.0f) / sqrt(splat(mean + p.eps));
  if (weight == nullptr) {
    map(x, y, 0, p.dim, [&](F32 v) ZRT_UNROLLED { return v * scale; });
  } else {
    const F32 offset = splat(p.weight_offset);
    map(x, weight, y, 0, p.dim, [&](F32 v, F32 w) ZRT_UNROLLED { return (v * scale) * (w + offset); });
  }
}

/// Runs are split.
inline void rms_norm(const RmsNormArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const ops::RmsNormParams& p = a.call.params;
  const float* weight = a.call.w[0].f32();
  const Range part = split(a.call.in[0].elements(step) / p.dim, 1, worker);
  for (std::uint64_t run = part.first; run < part.last; ++run)
    norm_run(p, a.call.in[0].as<float>() + run * p.dim, weight, a.call.out[0].as<float>() + run * p.dim);
}

/// sum, then norm of the sum; runs are split.
inline void residual_rms_norm(const ResidualRmsNormArgs& a, const ExecutionContext& step,
                              const Worker& worker) noexcept {
  const ops::RmsNormParams& p = a.call.params.norm;
  const F32 scale = splat(a.call.params.add.scale);
  const float* weight = a.call.w[0].f32();
  const Range part = split(a.call.in[0].elements(step) / p.dim, 1, worker);
  for (std::uint64_t run = part.first; run < part.last; ++run) {
    const std::uint64_t at = run * p.dim;
    float* sum = a.call.out[0].as<float>() + at;
    map(a.call.in[0].as<float>() + at, a.call.in[1].as<float>() + at, sum, 0, p.dim,
        [&](F32 x, F32 branch) ZRT_UNROLLED { return fma(scale, branch, x); });
    norm_run(p, sum, weight, a.call.out[1].as<float>() + at);
  }
}

/// Norms rows into the scratch and rounds them if a projection wants it; rows are split.
inline void norm_round_rows(const NormRoundArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t rows = a.x.rows(step);
  const std::uint32_t cols = a.x.cols(step);
  const RowScratch to = normed_scratch(worker.scratch.data(), rows, cols);
  const Range part = split(rows, 1, worker);
  for (std::uint64_t t = part.first; t < part.last; ++t) {
    for (std::uint32_t i = 0; i < cols; i += a.norm.dim)
      norm_run(a.norm, a.x.as<float>() + t * cols + i, a.weight, to.normed + t * cols + i);
    if (a.forms.narrow) round_groups(to.normed, t * (cols / kGroup), (t + 1) * (cols / kGroup), to);
    if (a.forms.wide) round_wide_groups(to.normed, t * (cols / kWideGroup), (t + 1) * (cols / kWideGroup), to);
  }
}
