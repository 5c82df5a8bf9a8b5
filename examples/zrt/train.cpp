// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train.cpp: trains a tensor program on examples from files.
#include "commands.hpp"
#include "output.hpp"
#include "train_checkpoint.hpp"
#include "train_rate.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace program {
namespace {

/// The examples of a training: to learn from, and held out.
struct SplitExamples {
  Examples learnt;
  Examples held;
};

zrt::Result<SplitExamples> split_examples(const TrainOptions& o) {
  auto learnt = read_examples(o.data);
  if (!learnt) return zrt::pass(learnt);
  SplitExamples split{std::move(*learnt), {}};
  if (!o.validation.empty()) {
    auto held = read_examples(o.validation);
    if (!held) return zrt::pass(held);
    split.held = std::move(*held);
  } else if (o.hold_out > 0) {
    split.held =
        take_last(split.learnt, static_cast<std::size_t>(static_cast<double>(split.learnt.count) * o.hold_out));
  }
  const bool holds = !o.validation.empty() || o.hold_out > 0;
  for (const Examples* examples : {&split.learnt, &split.held})
    if ((examples == &split.learnt || holds) && examples->count < o.batch)
      return zrt::fail(zrt::Errc::invalid_argument, examples == &split.learnt ? "there are " : "held out are ",
                       examples->count, " examples, expected at least a batch of ", o.batch);
  return split;
}

/// Runs a training step by step and tells of it.
class TrainLoop {
 public:
  TrainLoop(const TrainOptions& o, const SplitExamples& examples, Training& training)
      : o_(o), examples_(examples), training_(training) {
    const std::uint64_t per_epoch = examples.learnt.count / o.batch;
    schedule_ = {o.schedule, o.rate, o.last_rate, o.warmup, o.epochs != 0 ? o.epochs * per_epoch : o.steps};
  }

  [[nodiscard]] zrt::Result<void> run() {
    if (!o_.resume.empty()) {
      auto progress = read_checkpoint(o_.resume, o_, examples_.learnt.count, training_);
      if (!progress) return zrt::pass(progress);
      progress_ = std::move(*progress);
    }
    began_ = std::chrono::steady_clock::now();
    first_ = progress_.steps;
    while (progress_.steps < schedule_.steps)
      if (auto r = step(); !r) return r;
    if (examples_.held.count != 0 &&
        (progress_.validations.empty() || progress_.validations.back().step != progress_.steps))
      if (auto r = validate(); !r) return r;
    if (!o_.checkpoint.empty())
      if (auto r = keep(); !r) return r;
    if (!o_.curve.empty())
      if (auto r = write_file(o_.curve, loss_curve(progress_.losses, progress_.validations)); !r) return r;
    return o_.out.empty() ? zrt::Result<void>{} : write_parameters(o_.out, o_, training_);
  }

 private:
  [[nodiscard]] zrt::Result<void> step() {
    const std::uint64_t at = progress_.steps, per_epoch = examples_.learnt.count / o_.batch;
    if (order_.empty() || at % per_epoch == 0) order_ = order_of(examples_.learnt.count, o_.seed, at / per_epoch);
    training_.fill(examples_.learnt, std::span(order_).subspan(at % per_epoch * o_.batch, o_.batch));
    const double rate = schedule_.at(at);
    const auto outcome = training_.run(true, rate, SplitMix(o_.seed ^ ~at).next());
    if (!outcome) return zrt::pass(outcome);
    if (!std::isfinite(outcome->loss))
      return zrt::fail(zrt::Errc::invalid_argument, "step ", at + 1, " has a loss that is no finite number",
                       o_.clip_norm == 0 ? "; try a lower --rate or --clip-norm" : "; try a lower --rate");
    progress_.losses.push_back(outcome->loss);
    ++progress_.steps;
    const bool last = progress_.steps == schedule_.steps;
    if (progress_.steps % o_.print == 0 || last) {
      if (examples_.held.count != 0)
        if (auto r = validate(); !r) return r;
      if (!tell(*outcome, rate)) return std::unexpected(write_error("stdout", 0));
    }
    return !o_.checkpoint.empty() && o_.every != 0 && progress_.steps % o_.every == 0 ? keep() : zrt::Result<void>{};
  }

  /// The means over the whole batches of the examples that are held out.
  [[nodiscard]] zrt::Result<void> validate() {
    std::vector<std::uint32_t> rows(o_.batch);
    double loss = 0, accuracy = 0;
    const std::size_t batches = examples_.held.count / o_.batch;
    for (std::size_t batch = 0; batch < batches; ++batch) {
      std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(batch * o_.batch));
      training_.fill(examples_.held, rows);
      const auto outcome = training_.run(false, 0, o_.seed);
      if (!outcome) return zrt::pass(outcome);
      loss += static_cast<double>(outcome->loss);
      accuracy += static_cast<double>(outcome->accuracy);
    }
    const auto count = static_cast<double>(batches);
    progress_.validations.push_back(
        {progress_.steps, static_cast<float>(loss / count), static_cast<float>(accuracy / count)});
    return {};
  }

  [[nodiscard]] zrt::Result<void> keep() {
    return write_checkpoint(o_.checkpoint, o_, examples_.learnt.count, training_, progress_);
  }

  [[nodiscard]] bool tell(const Training::Outcome& outcome, double rate) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const double speed = static_cast<double>(progress_.steps - first_) / seconds;
    const HeldOutLoss* held = examples_.held.count != 0 ? &progress_.validations.back() : nullptr;
    if (o_.json) {
      nlohmann::ordered_json json{{"step", progress_.steps}, {"loss", outcome.loss}, {"rate", rate}};
      if (training_.has_accuracy()) json["accuracy"] = outcome.accuracy;
      if (held != nullptr) json["held_out_loss"] = held->loss;
      if (held != nullptr && training_.has_accuracy()) json["held_out_accuracy"] = held->accuracy;
      json["steps_per_second"] = speed;
      return print(json.dump() + "\n");
    }
    char text[256];
    std::string line;
    const auto add = [&](const char* format, auto... values) {
      (void)std::snprintf(text, sizeof text, format, values...);
      line += text;
    };
    add("step %llu of %llu: loss %.6f", static_cast<unsigned long long>(progress_.steps),
        static_cast<unsigned long long>(schedule_.steps), static_cast<double>(outcome.loss));
    if (held != nullptr) add(", held out %.6f", static_cast<double>(held->loss));
    if (training_.has_accuracy())
      add(", right %.1f %%", 100 * static_cast<double>(held != nullptr ? held->accuracy : outcome.accuracy));
    add(", rate %.3g, %.0f steps/s\n", rate, speed);
    return print(line);
  }

  const TrainOptions& o_;
  const SplitExamples& examples_;
  Training& training_;
  RateSchedule schedule_;
  TrainProgress progress_;
  std::vector<std::uint32_t> order_;  ///< of the epoch
  std::chrono::steady_clock::time_point began_;
  std::uint64_t first_ = 0;  ///< steps that a checkpoint had done
};

}  // namespace

int train(const TrainOptions& o) {
  if (o.loss != "output" && o.target.empty())
    return usage("--target NAME says which of the examples the loss compares");
  if (o.out.ends_with(".onnx") && !o.file.ends_with(".onnx"))
    return usage("--out: only an ONNX file can be written as one; give a .npz");
  const auto examples = split_examples(o);
  if (!examples) return failed(examples.error());
  auto trainee = read_trainee(o, examples->learnt);
  if (!trainee) return failed(trainee.error());
  auto training = Training::make(o, std::move(*trainee), examples->learnt);
  if (!training) return failed(training.error());
  for (const TrainFeed& feed : training->batch())
    if (const Array* held = examples->held.find(feed.name);
        examples->held.count != 0 && (held == nullptr || !same_rows(*held, feed.value)))
      return failed(zrt::fail(zrt::Errc::shape_mismatch, "the held-out examples have no tensor ",
                              std::string_view(feed.name), " of the type and shape of the others")
                        .error());
  if (auto r = TrainLoop(o, *examples, *training).run(); !r) return failed(r.error());
  return kOk;
}

}  // namespace program
