// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/primitive_folds.inc.hpp: textual fragment: sums and extremes of f32 runs, layer norm.

/// The sum of f(x[i]) in the order dot16 with ones.
template <class F> [[nodiscard]] ZRT_ALWAYS_INLINE float sum_of(const float* x, std::uint64_t n, F&& f) noexcept {
  F32 lanes = splat(0.0f);
  std::uint64_t i = 0;
  for (; i + 16 <= n; i += 16) lanes = lanes + sealed(f(load(x + i)));
  const auto rest = static_cast<std::size_t>(n - i);
  if (rest != 0) lanes = lanes + select(first_lanes(rest), sealed(f(load_first(x + i, rest))), splat(0.0f));
  return reduce_tree(lanes);
}

/// The first of the largest elements, or with `sign` -1 of the smallest; NaN left out.
[[nodiscard]] inline float extreme_of(const float* x, std::uint64_t n, float sign) noexcept {
  const float none = -std::numeric_limits<float>::infinity();
  const F32 by = splat(sign);
  F32 best = splat(none);
  for (std::uint64_t i = 0; i < n; i += 16) {
    const std::size_t count = n - i < 16 ? static_cast<std::size_t>(n - i) : 16;
    const F32 v = count == 16 ? load(x + i) : select(first_lanes(count), load_first(x + i, count), by * splat(none));
    best = max(by * v, best);
  }
  const F32 top = splat(largest_lane(best));
  for (std::uint64_t i = 0; i < n; i += 16) {
    const std::size_t count = n - i < 16 ? static_cast<std::size_t>(n - i) : 16;
    const F32 v = count == 16 ? load(x + i) : load_first(x + i, count);
    const std::uint32_t found = lane_bits(both(equal(by * v, top), first_lanes(count)));
    if (found != 0) return x[i + static_cast<std::uint32_t>(std::countr_zero(found))];
  }
  return sign * none;
}

/// Rows of the last axes that are folded; rows are split.
template <class Call> void reduce_rows(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t rows = c.out[0].elements(step);
  // Folded axes of extent 0 leave rows of nothing.
  const std::uint64_t cols = rows == 0 ? 0 : c.in[0].elements(step) / rows;
  const Range part = split(rows, 16, worker);
  float* y = c.out[0].template as<float>();
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    const float* x = c.in[0].template as<float>() + row * cols;
    if (c.params.kind == ops::ReduceKind::sum)
      y[row] = sum_of(x, cols, [](F32 v) ZRT_UNROLLED { return v; });
    else
      y[row] = extreme_of(x, cols, c.params.kind == ops::ReduceKind::maximum ? 1.0f : -1.0f);
  }
}

/// Rows are split.
template <class Call> void layer_norm_rows(const Call& c, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t cols = ops::AxisSplit(c.in[0], c.params.feature_axis, step).extent;
  if (cols == 0) return;
  const float features = integer_to_f32(cols);
  const float epsilon = narrow_to_f32(c.params.epsilon);
  const float* gamma = c.in[1].template as<float>();
  const float* beta = c.in[2].template as<float>();
  const Range part = split(c.in[0].elements(step) / cols, 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    const float* x = c.in[0].template as<float>() + row * cols;
    float* y = c.out[0].template as<float>() + row * cols;
    const F32 mean = splat(sum_of(x, cols, [](F32 v) ZRT_UNROLLED { return v; }) / features);
    const float squares = sum_of(x, cols, [&](F32 v) ZRT_UNROLLED { return (v - mean) * (v - mean); });
    const F32 scale = splat(1.0f) / sqrt(splat(squares / features + epsilon));
    std::uint64_t i = 0;
    for (; i + 16 <= cols; i += 16) {
      const F32 normed = (load(x + i) - mean) * scale;
      store(y + i, sealed(normed * load(gamma + i)) + load(beta + i));
    }
    const auto rest = static_cast<std::size_t>(cols - i);
    if (rest == 0) continue;
    const F32 normed = (load_first(x + i, rest) - mean) * scale;
    store_first(y + i, sealed(normed * load_first(gamma + i, rest)) + load_first(beta + i, rest), rest);
  }
}
