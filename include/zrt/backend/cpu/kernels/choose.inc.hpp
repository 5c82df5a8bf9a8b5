// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/choose.inc.hpp: textual fragment: softmax, the largest element.

/// Rows are split.
inline void softmax(const SoftmaxArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t cols = a.call.in[0].cols(step);
  const Range part = split(a.call.in[0].rows(step), 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row) {
    const float* x = a.call.in[0].as<float>() + row * cols;
    float* y = a.call.out[0].as<float>() + row * cols;
    const F32 top = splat(largest_of(x, cols));
    F32 lanes = splat(0.0f);
    std::uint32_t i = 0;
    for (; i + 16 <= cols; i += 16) {
      const F32 e = exp(load(x + i) - top);
      store(y + i, e);
      lanes = lanes + e;
    }
    if (i < cols) {
      const std::size_t rest = cols - i;
      const F32 e = select(first_lanes(rest), exp(load_first(x + i, rest) - top), splat(0.0f));
      store_first(y + i, e, rest);
      lanes = lanes + e;
    }
    const F32 sum = splat(reduce_tree(lanes));
    map(y, y, 0, cols, [&](F32 v) noexcept { return v / sum; });
  }
}

/// The smallest index of the largest element; 0 if all are NaN.
[[nodiscard]] inline std::int32_t index_of_largest(const float* x, std::uint32_t n) noexcept {
  const F32 top = splat(largest_of(x, n));
  const std::uint32_t at = first_where(x, 0, n, [&](F32 v) ZRT_UNROLLED { return equal(v, top); });
  return at == n ? 0 : static_cast<std::int32_t>(at);
}

/// Rows are split.
inline void greedy_token(const GreedyTokenArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t cols = a.call.in[0].cols(step);
  const Range part = split(a.call.in[0].rows(step), 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row)
    a.call.out[0].as<std::int32_t>()[row] = index_of_largest(a.call.in[0].as<float>() + row * cols, cols);
}
