// SPDX-License-Identifier: Apache-2.0
// examples/zrt/trainee.hpp: a tensor program that is to be trained: its steps, and who fills its feeds.
#pragma once

#include "options.hpp"
#include "train_data.hpp"
#include <zrt/ir/fused/program.hpp>

#include <string>
#include <vector>

namespace program {

/// A feed of the program that is trained.
struct TrainFeed {
  std::string name;
  zrt::ir::fused::ValueId id = 0;
  Array value;
};

/// A program as fused steps, and who fills its feeds.
struct Trainee {
  zrt::ir::fused::FusedProgram steps{};
  std::vector<TrainFeed> batch{};       ///< what examples fill: room for one batch each
  std::vector<TrainFeed> parameters{};  ///< what training moves, with the first values
  std::vector<TrainFeed> fixed{};       ///< what --freeze names
};

/// Reads the program that `o` names for batches of `examples`: an ONNX file, a fused program as JSON, or a PTIR program
/// as JSON or text. Inputs that bear a name of the examples are theirs; the others, and the initialisers of an ONNX file,
/// are parameters.
///
/// Errors: those of reading; Errc::invalid_argument where a parameter is no float, or there is none.
[[nodiscard]] zrt::Result<Trainee> read_trainee(const TrainOptions& o, const Examples& examples);

/// The type of a tensor as programs state it.
[[nodiscard]] zrt::ir::ptir::TensorType type_of(const Array& array);
/// A tensor of zeros; its extents are constants.
[[nodiscard]] Array zeros_of(const zrt::ir::ptir::TensorType& type);
/// Room for a batch of a tensor of examples.
[[nodiscard]] Array batch_of(const Array& examples, std::uint32_t batch);

}  // namespace program
