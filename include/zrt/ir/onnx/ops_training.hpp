// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_training.hpp: optimizer steps of the domain ai.onnx.preview.training.
#pragma once

#include <zrt/ir/onnx/ops_elementwise.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Tensors that are trained by one node: operands 2 on, `kinds` lists of as many tensors each.
[[nodiscard]] inline std::size_t trained(NodeCall& n, std::size_t kinds) noexcept {
  if (n.inputs() < 2 + kinds || (n.inputs() - 2) % kinds != 0) {
    n.fail(Errc::invalid_file, "the node has ", n.inputs(), " inputs, expected 2 and a multiple of ", kinds);
    return 0;
  }
  return (n.inputs() - 2) / kinds;
}
/// The gradient with the term that keeps the weights small.
[[nodiscard]] inline Tensor regularised(NodeCall& n, const Tensor& x, const Tensor& gradient) noexcept {
  return x * n.real("norm_coefficient", 0) + gradient;
}
inline void adagrad(NodeCall& n) noexcept {
  const std::size_t count = trained(n, 3);
  if (n.failed()) return;
  const Tensor rate = n.in(0) / (n.b().cast(n.in(1), n.dtype(0)) * n.real("decay_factor", 0) + 1.0);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor x = n.in(2 + i);
    const Tensor g = regularised(n, x, n.in(2 + count + i));
    const Tensor h = n.in(2 + 2 * count + i) + g * g;
    n.out(i, x - rate * g / (sqrt_of(n, h) + n.real("epsilon", 1e-6)));
    n.out(count + i, h);
  }
}
inline void adam(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::size_t count = trained(n, 4);
  if (n.failed()) return;
  const double alpha = n.real("alpha", 0.9);
  const double beta = n.real("beta", 0.999);
  const Tensor r = n.in(0);
  const Tensor t = n.in(1);
  const auto power = [&](double base) {
    return custom1(n, kernels::Pow::target, {b.broadcast_to(scalar_like(r, base), t.shape()), t}, {},
                   {r.dtype(), t.shape()});
  };
  const Tensor one = scalar_like(r, 1);
  const Tensor corrected = r * sqrt_of(n, one - power(beta)) / (one - power(alpha));
  const Tensor rate = b.select(b.gt(t, scalar_like(t, 0)), corrected, r);
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor x = n.in(2 + i);
    const Tensor g = regularised(n, x, n.in(2 + count + i));
    const Tensor v = n.in(2 + 2 * count + i) * alpha + g * (1 - alpha);
    const Tensor h = n.in(2 + 3 * count + i) * beta + g * g * (1 - beta);
    const Tensor stepped = x - rate * v / (sqrt_of(n, h) + n.real("epsilon", 1e-6));
    n.out(i, stepped * (1 - n.real("norm_coefficient_post", 0)));
    n.out(count + i, v);
    n.out(2 * count + i, h);
  }
}
inline void momentum(NodeCall& n) noexcept {
  Builder& b = n.b();
  const std::size_t count = trained(n, 3);
  if (n.failed()) return;
  const double alpha = n.real("alpha", 0);
  const Tensor t = n.in(1);
  const Tensor fresh =
      b.select(b.gt(t, scalar_like(t, 0)), b.scalar(n.dtype(0), n.real("beta", 0)), b.scalar(n.dtype(0), 1));
  const bool nesterov = n.text("mode", "standard") == "nesterov";
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor x = n.in(2 + i);
    const Tensor g = regularised(n, x, n.in(2 + count + i));
    const Tensor v = n.in(2 + 2 * count + i) * alpha + g * fresh;
    n.out(i, x - n.in(0) * (nesterov ? g + v * alpha : v));
    n.out(count + i, v);
  }
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
