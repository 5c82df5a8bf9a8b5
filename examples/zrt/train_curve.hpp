// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_curve.hpp: the losses of a training as a drawing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace program {

/// What examples that are held out gave after a number of steps.
struct HeldOutLoss {
  std::uint64_t step = 0;
  float loss = 0;
  float accuracy = 0;
};

/// An SVG drawing of the loss by steps: a line through the batches' (means of several where there are more than points),
/// and one through those of the held-out examples.
[[nodiscard]] std::string loss_curve(const std::vector<float>& losses, const std::vector<HeldOutLoss>& validations);

}  // namespace program
