// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_loss.cpp: losses by name.
#include "train_loss.hpp"

#include <limits>

namespace program {
namespace {

namespace ptir = zrt::ir::ptir;
using ptir::Tensor;

Tensor mean_of(ptir::Builder& b, const Tensor& x) {
  const auto count = static_cast<std::int64_t>(x.shape().constant_elements().raw());
  return b.reduce_sum(b.reshape(x, {count}), {0}) / static_cast<double>(count);
}

std::unexpected<zrt::Error> unlike(const ptir::Builder& b, zrt::Errc code, const ptir::TensorType& target,
                                   std::string_view expected, const ptir::TensorType& output) {
  zrt::Error error = zrt::Error::of(code, "the target is ");
  ptir::append_type(error, b.program(), target)
      .append(", expected ")
      .append(expected)
      .append(" for an output that is ");
  return std::unexpected(ptir::append_type(error, b.program(), output));
}

/// ln sum exp along an axis, which stays with an extent of 1; the greatest only keeps exp small.
Tensor log_sum_exp(ptir::Builder& b, const Tensor& x, std::int64_t axis) {
  const Tensor most = b.stop_gradient(b.reduce_max(x, {axis}, true));
  return b.log(b.reduce_sum(b.exp(x - most), {axis}, true)) + most;
}

zrt::Result<Loss> cross_entropy(ptir::Builder& b, const Tensor& x, const Tensor& target, std::int64_t class_axis) {
  const ptir::Shape& shape = x.shape();
  const std::int64_t axis = class_axis < 0 ? class_axis + shape.rank : class_axis;
  if (axis < 0 || axis >= shape.rank)
    return zrt::fail(zrt::Errc::invalid_argument, "--class-axis is ", class_axis, ", and the output has ",
                     unsigned{shape.rank}, " axes");
  if (zrt::is_float(target.dtype())) {
    if (!(target.shape() == shape))
      return unlike(b, zrt::Errc::shape_mismatch, target.type(), "probabilities of one shape with it, or classes",
                    x.type());
    return Loss{mean_of(b, b.reduce_sum((log_sum_exp(b, x, axis) - x) * b.cast(target, x.dtype()), {axis}))};
  }
  ptir::Shape places, kept;
  for (std::uint8_t i = 0; i < shape.rank; ++i) {
    if (i != axis) places.append(shape[i]);
    kept.append(i == axis ? ptir::Dim(std::int64_t{1}) : shape[i]);
  }
  if (!zrt::is_integer(target.dtype()))
    return unlike(b, zrt::Errc::dtype_mismatch, target.type(), "integers or floats", x.type());
  if (!(target.shape() == places) && !(target.shape() == kept))
    return unlike(b, zrt::Errc::shape_mismatch, target.type(), "a class for each place", x.type());
  const Tensor classes = b.cast(target, zrt::DType::si32);
  const Tensor chosen = b.gather(x, b.reshape(classes, kept), axis);
  const Tensor right = b.eq(b.arg_max(b.stop_gradient(x), axis), b.reshape(classes, places));
  return Loss{mean_of(b, log_sum_exp(b, x, axis) - chosen), mean_of(b, b.cast(right, zrt::DType::f32))};
}

/// -t ln p - (1 - t) ln(1 - p), where p = 1 / (1 + exp(-x)), in a form that keeps its range.
Tensor binary_cross_entropy(ptir::Builder& b, const Tensor& x, const Tensor& t) {
  const Tensor zero = b.scalar(x.dtype(), 0);
  return b.maximum(x, zero) - x * t + b.log(b.exp(zero - b.abs(x)) + 1.0);
}

Tensor huber(ptir::Builder& b, const Tensor& difference) {
  const Tensor size = b.abs(difference);
  return b.select(b.le(size, b.scalar(size.dtype(), 1)), difference * difference * 0.5, size - 0.5);
}

}  // namespace

zrt::Result<Loss> loss_of(ptir::Builder& b, std::string_view name, const Tensor& output,
                          const std::optional<Tensor>& target, std::int64_t class_axis) {
  if (!zrt::is_float(output.dtype()))
    return zrt::fail(zrt::Errc::dtype_mismatch, "the output of the loss is ", zrt::name(output.dtype()),
                     ", expected a float");
  if (!target) return Loss{mean_of(b, output)};
  if (name == "cross-entropy") return cross_entropy(b, output, *target, class_axis);
  if (!(target->shape() == output.shape()))
    return unlike(b, zrt::Errc::shape_mismatch, target->type(), "one of the same shape", output.type());
  const Tensor t = b.cast(*target, output.dtype());
  if (name == "binary-cross-entropy") return Loss{mean_of(b, binary_cross_entropy(b, output, t))};
  const Tensor difference = output - t;
  if (name == "mae") return Loss{mean_of(b, b.abs(difference))};
  return Loss{mean_of(b, name == "huber" ? huber(b, difference) : difference * difference)};
}

}  // namespace program
