// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_checkpoint.hpp: a training as a file, from which it goes on with the same bits.
#pragma once

#include "train_curve.hpp"
#include "training.hpp"

namespace program {

/// How far a training is.
struct TrainProgress {
  std::uint64_t steps = 0;  ///< done
  std::vector<float> losses{};
  std::vector<HeldOutLoss> validations{};
};

/// Writes parameters and state of the optimizer by their names, and the progress, as a .npz archive.
[[nodiscard]] zrt::Result<void> write_checkpoint(const std::string& path, const TrainOptions& o, std::size_t examples,
                                                 Training& training, const TrainProgress& progress);

/// Reads one.
///
/// Errors: Errc::invalid_file for an archive that is no checkpoint; Errc::invalid_argument for one of another program,
/// optimizer, batch, seed or number of examples, naming what differs.
[[nodiscard]] zrt::Result<TrainProgress> read_checkpoint(const std::string& path, const TrainOptions& o,
                                                         std::size_t examples, Training& training);

/// Writes the parameters: into a copy of the ONNX file where `path` ends in .onnx, else as a .npz archive.
[[nodiscard]] zrt::Result<void> write_parameters(const std::string& path, const TrainOptions& o, Training& training);

}  // namespace program
