// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_loss.hpp: losses of classifiers.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/ops_index.hpp>
#include <zrt/ir/onnx/ops_reduce.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// The loss of log-probabilities [N, C, ...], which are widened, for targets [N, ...] and weights of the classes
/// (operand 2); a target equal to ignore_index counts nothing.
inline void nll_of(NodeCall& n, const Tensor& log_probabilities) noexcept {
  Builder& b = n.b();
  const IntList shape = n.shape(log_probabilities);
  const IntList places = n.shape(1);
  if (shape.size() < 2 || places.size() + 1 != shape.size())
    return n.fail(Errc::shape_mismatch, "the target must have the axes of the scores but the classes");
  IntList one = shape;
  one[1] = 1;
  const Tensor target = b.cast(n.in(1), DType::si64);
  const DType dtype = log_probabilities.dtype();
  const bool ignores = n.has_attribute("ignore_index");
  const Tensor zero = b.scalar(dtype, 0);
  const Tensor ignored = b.eq(target, whole(b, n.integer("ignore_index", 0)));
  const Tensor safe = ignores ? b.select(ignored, b.scalar(DType::si64, 0), target) : target;
  Tensor loss = -reshape(b.gather(log_probabilities, reshape(safe, one), 1), places);
  std::optional<Tensor> weight;
  if (n.has(2)) weight = b.take(widened(n.in(2)), safe);
  if (ignores) weight = b.select(ignored, zero, weight ? *weight : b.scalar(dtype, 1));
  if (weight) loss = loss * *weight;
  const std::string_view reduction = n.text("reduction", "mean");
  if (reduction == "none") return n.out(0, as_type(loss, n.dtype(0)));
  const IntList axes = ascending(places.size());
  const Tensor sum = reduce(kSum, loss, axes, false);
  if (reduction == "sum") return n.out(0, as_type(sum, n.dtype(0)));
  if (reduction != "mean") return n.unsupported("reduction ", zrt::slice(reduction, 0, 20));
  const Tensor mean = weight ? sum / reduce(kSum, *weight, axes, false) : sum / static_cast<double>(product(places));
  n.out(0, as_type(mean, n.dtype(0)));
}
inline void negative_log_likelihood_loss(NodeCall& n) noexcept { nll_of(n, widened(n.in(0))); }
inline void softmax_cross_entropy_loss(NodeCall& n) noexcept {
  const Tensor log_probabilities = log_softmax_of(n, widened(n.in(0)), 1);
  nll_of(n, log_probabilities);
  n.out(1, as_type(log_probabilities, n.dtype(0)));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
