// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_loss.hpp: losses by name, as expressions of the portable tensor IR.
#pragma once

#include <zrt/ir/ptir/builder.hpp>

#include <optional>
#include <string_view>

namespace program {

/// A loss as one number, and the share of right classes where the targets are classes.
struct Loss {
  zrt::ir::ptir::Tensor value;
  std::optional<zrt::ir::ptir::Tensor> accuracy{};
};

/// The mean over all elements of what `output` loses against `target`.
///
/// cross-entropy: `output` has logits along `class_axis`, `target` is either the numbers of the classes, an integer
/// for each place, or their probabilities. binary-cross-entropy: both are of one shape, `output` has logits. mse, mae
/// and huber (which is quadratic up to a difference of 1): of one shape. output: `output` is the loss itself, whose
/// mean is taken, and there is no target.
/// Errors: Errc::shape_mismatch and dtype_mismatch, naming both.
[[nodiscard]] zrt::Result<Loss> loss_of(zrt::ir::ptir::Builder& builder, std::string_view name,
                                        const zrt::ir::ptir::Tensor& output,
                                        const std::optional<zrt::ir::ptir::Tensor>& target, std::int64_t class_axis);

}  // namespace program
