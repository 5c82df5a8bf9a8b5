// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_norm.hpp: normalisations over the batch, an instance, a layer.
#pragma once

#include <zrt/ir/onnx/ops_elementwise.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// Mean and variance of x, which is widened, over `axes`, which are kept with one element.
struct MeanAndVariance {
  Tensor mean;
  Tensor variance;
};
[[nodiscard]] inline MeanAndVariance moments(NodeCall& n, const Tensor& x, const IntList& axes) noexcept {
  const IntList shape = n.shape(x);
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  const Tensor mean = reduce(kSum, x, axes, true) / count;
  const Tensor deviation = x - mean;
  return {mean, reduce(kSum, deviation * deviation, axes, true) / count};
}
/// One number for each channel, axis 1 of `rank`.
[[nodiscard]] inline Tensor per_channel(NodeCall& n, const Tensor& x, std::size_t rank) noexcept {
  IntList along = IntList::of(rank, 1);
  along[1] = product(n.shape(x));
  return reshape(x, along);
}
[[nodiscard]] inline IntList all_but_channels(std::size_t rank) noexcept {
  IntList axes;
  for (std::size_t i = 0; i < rank; ++i)
    if (i != 1) axes.push(static_cast<std::int64_t>(i));
  return axes;
}

/// From opset 14 on the parameters may be of other float types than x: all are brought to the one that is computed in.
inline void batch_normalization(NodeCall& n) noexcept {
  const Tensor x = widened(n.in(0));
  const std::size_t rank = n.rank(0);
  const double epsilon = n.real("epsilon", 1e-5);
  if (rank < 2) return n.fail(Errc::shape_mismatch, "x has ", rank, " axes, expected [N, C, ...]");
  const auto parameter = [&](std::size_t i) {
    const Tensor p = n.in(i);
    if (!is_float(p.dtype()))
      n.fail(Errc::dtype_mismatch, "input ", i, " is of ", name(p.dtype()), ", expected a float");
    return per_channel(n, as_type(p, x.dtype()), rank);
  };
  Tensor mean = parameter(3);
  Tensor variance = parameter(4);
  if (n.integer("training_mode", 0) != 0) {
    const double momentum = n.real("momentum", 0.9);
    const MeanAndVariance now = moments(n, x, all_but_channels(rank));
    const IntList channels = n.shape(3);
    n.out(1, as_type(reshape(mean * momentum + now.mean * (1 - momentum), channels), n.dtype(3)));
    n.out(2, as_type(reshape(variance * momentum + now.variance * (1 - momentum), channels), n.dtype(4)));
    mean = now.mean;
    variance = now.variance;
  } else if (n.has_out(1)) {
    return n.unsupported("statistics of a batch without training_mode");
  }
  const Tensor scale = parameter(1) / sqrt_of(n, variance + epsilon);
  n.out(0, as_type((x - mean) * scale + parameter(2), n.dtype(0)));
}
inline void instance_normalization(NodeCall& n) noexcept {
  const Tensor x = widened(n.in(0));
  const std::size_t rank = n.rank(0);
  if (rank < 2) return n.fail(Errc::shape_mismatch, "x has ", rank, " axes, expected [N, C, ...]");
  IntList axes;
  for (std::size_t i = 2; i < rank; ++i) axes.push(static_cast<std::int64_t>(i));
  const MeanAndVariance m = moments(n, x, axes);
  const Tensor normal = (x - m.mean) / sqrt_of(n, m.variance + n.real("epsilon", 1e-5));
  const Tensor y = normal * per_channel(n, widened(n.in(1)), rank) + per_channel(n, widened(n.in(2)), rank);
  n.out(0, as_type(y, n.dtype(0)));
}
/// stash_type is the type of the moments that leave; they are computed in f32, of f64 in f64.
inline void layer_normalization(NodeCall& n) noexcept {
  const auto stash = dtype_of(n.integer("stash_type", 1));
  if (!stash) return n.fail(stash.error());
  if (!is_float(*stash)) return n.fail(Errc::invalid_params, "stash_type is ", name(*stash), ", expected a float");
  const Tensor given = n.in(0);
  const std::size_t rank = n.rank(0);
  IntList axes;
  for (std::size_t i = n.axis("axis", -1, rank); i < rank; ++i) axes.push(static_cast<std::int64_t>(i));
  const double epsilon = n.real("epsilon", 1e-5);
  // The primitive, where it says the same and nothing else is asked for.
  if (axes.size() == 1 && n.has(2) && !n.has_out(1) && !n.has_out(2) && n.rank(1) == 1 && n.rank(2) == 1)
    return n.out(0, n.b().layer_norm(given, n.in(1), n.in(2), epsilon));
  const Tensor x = widened(given);
  const MeanAndVariance m = moments(n, x, axes);
  const Tensor inverse = n.b().reciprocal(sqrt_of(n, m.variance + epsilon));
  Tensor y = (x - m.mean) * inverse * widened(n.in(1));
  if (n.has(2)) y = y + widened(n.in(2));
  n.out(0, as_type(y, given.dtype()));
  n.out(1, as_type(m.mean, *stash));
  n.out(2, as_type(inverse, *stash));
}
/// Refuses a stash_type in which the norm is not computed: it is in f32, of f64 in f64.
inline void expect_stash(NodeCall& n) noexcept {
  const auto stash = dtype_of(n.integer("stash_type", 1));
  if (!stash) return n.fail(stash.error());
  if (*stash != DType::f32 && !(*stash == DType::f64 && n.dtype(0) == DType::f64))
    n.unsupported("stash_type ", name(*stash), " of x in ", name(n.dtype(0)));
}
/// The stages as the standard has them: normal in the wide type, cast back, scaled in x's own.
inline void rms_normalization(NodeCall& n) noexcept {
  expect_stash(n);
  const Tensor given = n.in(0);
  const std::size_t rank = n.rank(0);
  IntList axes;
  for (std::size_t i = n.axis("axis", -1, rank); i < rank; ++i) axes.push(static_cast<std::int64_t>(i));
  const Tensor x = widened(given);
  const IntList shape = n.shape(0);
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  const Tensor mean = reduce(kSum, x * x, axes, true) / count;
  const Tensor normal = x * n.b().rsqrt(mean + n.real("epsilon", 1e-5));
  n.out(0, as_type(as_type(normal, given.dtype()) * n.in(1), n.dtype(1)));
}
/// Moments over each of `num_groups` runs of channels; scale and bias for each channel.
inline void group_normalization(NodeCall& n) noexcept {
  expect_stash(n);
  const IntList shape = n.shape(0);
  const std::int64_t groups = n.integer("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    return n.fail(Errc::shape_mismatch, "x must be [N, C, ...] with num_groups, ", groups, ", dividing C");
  const IntList grouped{shape[0], groups, product(shape, 1, shape.size()) / groups};
  const Tensor x = reshape(widened(n.in(0)), grouped);
  const MeanAndVariance m = moments(n, x, {2});
  const Tensor normal = as_type((x - m.mean) / sqrt_of(n, m.variance + n.real("epsilon", 1e-5)), n.dtype(0));
  const Tensor y = reshape(normal, shape) * per_channel(n, n.in(1), shape.size());
  n.out(0, y + per_channel(n, n.in(2), shape.size()));
}
inline void mean_variance_normalization(NodeCall& n) noexcept {
  const Tensor x = widened(n.in(0));
  IntList axes = n.has_attribute("axes") ? n.ints("axes") : IntList{0, 2, 3};
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(n.axis_of(axes[i], n.rank(0)));
  const MeanAndVariance m = moments(n, x, axes);
  n.out(0, as_type((x - m.mean) / (sqrt_of(n, m.variance) + 1e-9), n.dtype(0)));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
