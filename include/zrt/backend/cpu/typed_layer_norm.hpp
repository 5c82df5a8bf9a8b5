// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/typed_layer_norm.hpp: layer norm of any floats along any axis, line by line.
#pragma once

#include <zrt/backend/cpu/fold_run.hpp>
#include <zrt/backend/cpu/split.hpp>
#include <zrt/backend/cpu/typed_lines.hpp>
#include <zrt/exec/host_program.hpp>
#include <zrt/ops/layer_norm.hpp>

#include <algorithm>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::cpu {

/// Each line is brought into scratch, normed there, and put back; lines are split.
struct TypedLayerNorm {
  HostCall<ops::LayerNorm> call{};
  exec::HostKernel<HostCall<ops::LayerNorm>> rows = nullptr;

  /// A line, gamma and beta, for as many workers as run at the same time.
  [[nodiscard]] static constexpr CheckedSize scratch(const TypeCall<ops::LayerNorm>& c,
                                                     const Extents& bounds) noexcept {
    const Shape& x = c.in[0].type.shape;
    const CheckedSize features = Shape{x[c.params.feature_axis]}.elements(bounds);
    return features * CheckedSize(3 * kLanes * sizeof(double));
  }

  static void run(const TypedLayerNorm& a, const ExecutionContext& step, const Worker& worker) noexcept {
    Worker mine = worker;
    mine.count = std::min(worker.count, kLanes);
    if (mine.index >= mine.count) return;
    if (a.call.in[0].type.dtype == DType::f64)
      a.lines<double>(step, worker, mine);
    else
      a.lines<float>(step, worker, mine);
  }

 private:
  static constexpr std::uint32_t kLanes = 8;

  template <class T> void lines(const ExecutionContext& step, const Worker& worker, const Worker& mine) const noexcept {
    const DType dtype = call.in[0].type.dtype;
    const ops::AxisSplit x(call.in[0], call.params.feature_axis, step);
    const Range part = split(x.extent == 0 ? 0 : x.outer * x.inner, 1, mine);
    if (part.first == part.last) return;
    T* line = reinterpret_cast<T*>(worker.scratch.data()) + std::uint64_t{mine.index} * 3 * x.extent;
    T* gamma = line + x.extent;
    T* beta = gamma + x.extent;
    const auto each_run = [&](auto&& run) noexcept {
      for (std::uint64_t first = 0; first < x.extent; first += kTypedRun)
        run(first, std::min(x.extent - first, kTypedRun));
    };
    each_run([&](std::uint64_t first, std::uint64_t count) {
      read_as(dtype, call.in[1].data, first, count, dtype, gamma + first);
      read_as(dtype, call.in[2].data, first, count, dtype, beta + first);
    });
    const std::uint64_t bytes = info(dtype).block_bytes;
    for (std::uint64_t i = part.first; i < part.last; ++i) {
      const std::uint64_t base = i / x.inner * x.extent * x.inner + i % x.inner;
      each_run([&](std::uint64_t first, std::uint64_t count) {
        read_line(dtype, call.in[0].data, base + first * x.inner, x.inner, count, dtype, line + first);
      });
      norm(line, gamma, beta, x.extent);
      each_run([&](std::uint64_t first, std::uint64_t count) {
        std::byte packed[kTypedRun * sizeof(T)];
        element_functions<T>(dtype).pack(line + first, 0, count, packed);
        for (std::uint64_t k = 0; k < count; ++k)
          std::memcpy(call.out[0].data + (base + (first + k) * x.inner) * bytes, packed + k * bytes, bytes);
      });
    }
  }

  /// By the kernel for f32.
  void norm(float* line, float* gamma, float* beta, std::uint64_t features) const noexcept {
    const auto vector = [&](float* x, Shape shape) noexcept {
      return HostTensor{reinterpret_cast<std::byte*>(x), {DType::f32, shape}};
    };
    const auto cols = static_cast<std::uint32_t>(features);
    const HostTensor row = vector(line, {1u, cols});
    rows({{row, vector(gamma, {cols}), vector(beta, {cols})}, {row}, {}, {}, {call.params.epsilon, 1, {}}, {}},
         ExecutionContext{}, Worker{});
  }
  void norm(double* line, const double* gamma, const double* beta, std::uint64_t features) const noexcept {
    const double count = integer_to_f64(features);
    FoldRun<ops::ReduceKind::sum, double> sum(DType::f64);
    sum.take(line, features);
    const double mean = sum.result() / count;
    FoldRun<ops::ReduceKind::sum, double> squares(DType::f64);
    double run[kTypedRun];
    for (std::uint64_t first = 0; first < features; first += kTypedRun) {
      const std::uint64_t n = std::min(features - first, kTypedRun);
      for (std::uint64_t k = 0; k < n; ++k) run[k] = math::sealed((line[first + k] - mean) * (line[first + k] - mean));
      squares.take(run, n);
    }
    const double scale =
        ops::ElementwiseUnary::apply(ops::UnaryKind::rsqrt, squares.result() / count + call.params.epsilon);
    for (std::uint64_t k = 0; k < features; ++k) {
      const double normed = (line[k] - mean) * scale;
      line[k] = math::sealed(normed * gamma[k]) + beta[k];
    }
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
ZRT_FP_END
