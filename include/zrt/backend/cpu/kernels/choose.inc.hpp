// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/choose.inc.hpp: textual fragment: softmax, the largest element, sampling.

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
  const float top = largest_of(x, n);
  std::uint32_t i = 0;
  while (i + 16 <= n && !any(equal(load(x + i), splat(top)))) i += 16;
  for (; i < n; ++i)
    if (x[i] == top) return static_cast<std::int32_t>(i);
  return 0;
}

/// Rows are split.
inline void argmax(const ArgmaxArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint32_t cols = a.call.in[0].cols(step);
  const Range part = split(a.call.in[0].rows(step), 1, worker);
  for (std::uint64_t row = part.first; row < part.last; ++row)
    a.call.out[0].as<std::int32_t>()[row] = index_of_largest(a.call.in[0].as<float>() + row * cols, cols);
}

/// Rows are split over as many workers as have scratch; the greedy choice needs none of it.
inline void sample(const SampleArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const std::uint64_t rows = a.call.out[0].elements(step);
  const std::uint32_t cols = a.call.in[0].cols(step);
  const std::uint64_t bytes = align_up(std::uint64_t{cols} * (sizeof(float) + sizeof(ops::Candidate)), 64);
  const std::uint64_t lanes = worker.count < kSampleLanes ? worker.count : kSampleLanes;
  if (worker.index >= lanes) return;
  for (std::uint64_t row = worker.index; row < rows; row += lanes) {
    ops::SampleRequest request;
    std::memcpy(&request, a.call.in[1].data + row * sizeof request, sizeof request);
    const bool greedy =
        request.active != 0 && request.temperature <= 0.0f && request.history == 0 && request.biases == 0;
    if (greedy)
      a.call.out[0].as<std::int32_t>()[row] = index_of_largest(a.call.in[0].as<float>() + row * cols, cols);
    else
      ops::Sample::row(a.call, step, row, worker, worker.scratch.subspan(worker.index * bytes, bytes));
  }
}
