// SPDX-License-Identifier: Apache-2.0
// examples/zrt/training.hpp: a tensor program with its loss, gradients and updates, made ready to train.
#pragma once

#include "tensor_program.hpp"
#include "trainee.hpp"

#include <memory>
#include <span>
#include <vector>

namespace program {

/// A training between its steps.
class Training {
 public:
  /// Errors: those of the loss, of differentiate, of update, and of making the program ready.
  [[nodiscard]] static zrt::Result<Training> make(const TrainOptions& o, Trainee trainee, const Examples& examples);

  /// What a run over a batch gave.
  struct Outcome {
    float loss = 0;
    float accuracy = 0;
  };
  /// Fills the batch with these rows of the examples.
  void fill(const Examples& examples, std::span<const std::uint32_t> rows);
  /// One run; in training it moves the parameters by `rate`.
  [[nodiscard]] zrt::Result<Outcome> run(bool training, double rate, std::uint64_t seed);

  [[nodiscard]] bool has_accuracy() const { return has_accuracy_; }
  [[nodiscard]] const std::vector<TrainFeed>& batch() const { return trainee_.batch; }
  [[nodiscard]] std::vector<TrainFeed>& parameters() { return trainee_.parameters; }
  /// State of the optimizer, which is zeros at first.
  [[nodiscard]] std::vector<TrainFeed>& slots() { return slots_; }

 private:
  explicit Training(Trainee trainee) : trainee_(std::move(trainee)) {}

  [[nodiscard]] zrt::Result<zrt::ir::fused::ValueId> add_loss(const TrainOptions& o, const Examples& examples);
  [[nodiscard]] zrt::Result<void> add_updates(const TrainOptions& o, zrt::ir::fused::ValueId loss);
  [[nodiscard]] zrt::Result<void> make_ready(const TrainOptions& o);
  /// All feeds with their types, and the memory of one of them.
  [[nodiscard]] std::vector<zrt::ir::fused::FeedType> feed_types() const;
  [[nodiscard]] Array& memory_of(zrt::ir::fused::ValueId id);

  Trainee trainee_;
  std::vector<TrainFeed> slots_{};
  TrainFeed rate_{};
  Outcome outcome_{};
  bool has_accuracy_ = false;
  std::unique_ptr<TensorProgram> ready_[2];  ///< in evaluation, in training
};

}  // namespace program
