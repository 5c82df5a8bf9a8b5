// SPDX-License-Identifier: Apache-2.0
// examples/zrt/training.cpp: a tensor program with its loss, gradients and updates.
#include "train_loss.hpp"
#include "training.hpp"
#include <zrt/ir/gradient/differentiate.hpp>
#include <zrt/ir/train/optimizer.hpp>

#include <algorithm>
#include <cstring>

namespace program {
namespace {

namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;
using ptir::Tensor;

/// Gradients cut to a length of `longest` together, where that is not 0.
void clip(ptir::Builder& b, zrt::Vector<Tensor>& gradients, double longest) {
  if (longest == 0 || gradients.empty()) return;
  std::optional<Tensor> squares;
  for (const Tensor& g : gradients) {
    const auto count = static_cast<std::int64_t>(g.shape().constant_elements().raw());
    const Tensor wide = b.cast(b.reshape(g, {count}), zrt::DType::f32);
    const Tensor own = b.reduce_sum(wide * wide, {0});
    squares = squares ? *squares + own : own;
  }
  // Zero by zero is no number, and needs no cut.
  const Tensor share =
      b.minimum(b.scalar(zrt::DType::f32, 1), b.rsqrt(b.maximum(*squares, b.scalar(zrt::DType::f32, 1e-30))) * longest);
  for (Tensor& g : gradients) g = g * b.cast(share, g.dtype());
}

/// Calls `use` with the optimizer that the options name.
template <class F> auto with_optimizer(const TrainOptions& o, F&& use) {
  namespace train = zrt::ir::train;
  if (o.optimizer == "sgd") return use(train::Sgd{o.rate, o.momentum, o.weight_decay, o.nesterov});
  if (o.optimizer == "adam") return use(train::Adam{o.rate, o.beta1, o.beta2, o.epsilon, o.weight_decay});
  return use(train::AdamW{o.rate, o.beta1, o.beta2, o.epsilon, o.weight_decay});
}

}  // namespace

zrt::Result<Training> Training::make(const TrainOptions& o, Trainee trainee, const Examples& examples) {
  Training training(std::move(trainee));
  const auto loss = training.add_loss(o, examples);
  if (!loss) return zrt::pass(loss);
  if (auto r = training.add_updates(o, *loss); !r) return zrt::pass(r);
  if (auto r = training.make_ready(o); !r) return zrt::pass(r);
  return training;
}

zrt::Result<fused::ValueId> Training::add_loss(const TrainOptions& o, const Examples& examples) {
  fused::FusedProgram& steps = trainee_.steps;
  const auto output = std::ranges::find_if(
      steps.outputs, [&](const fused::Output& out) { return o.output.empty() || out.name.view() == o.output; });
  if (output == steps.outputs.end())
    return zrt::fail(zrt::Errc::not_found, "the program has no output ", std::string_view(o.output));
  const fused::ValueId id = output->id;
  const auto types = feed_types();
  fused::Graft graft(steps, types);
  std::optional<Tensor> target;
  if (o.loss != "output") {
    const Array* of = examples.find(o.target);
    if (of == nullptr)
      return zrt::fail(zrt::Errc::not_found, "the examples have no tensor ", std::string_view(o.target),
                       " for --target");
    Array batch = batch_of(*of, o.batch);
    target = graft.feed(program::type_of(batch));
    trainee_.batch.push_back({o.target, graft.id_of(*target), std::move(batch)});
  }
  const auto loss = loss_of(graft.builder(), o.loss, graft.value(id), target, o.class_axis);
  if (graft.builder().failed()) return std::unexpected(graft.builder().error());
  if (!loss) return zrt::pass(loss);
  has_accuracy_ = loss->accuracy.has_value();
  // In one type, whatever the program computes in.
  const Tensor value = graft.builder().cast(loss->value, zrt::DType::f32);
  graft.output("loss", value);
  if (has_accuracy_) graft.output("accuracy", *loss->accuracy);
  const fused::ValueId loss_id = graft.id_of(value);
  auto made = graft.finish();
  if (!made) return zrt::pass(made);
  steps = std::move(*made);
  // Nobody reads what the program itself gives.
  zrt::Vector<fused::Output> kept(steps.outputs.allocator());
  for (std::size_t i = steps.outputs.size() - (has_accuracy_ ? 2 : 1); i < steps.outputs.size(); ++i)
    if (auto r = kept.push_back(steps.outputs[i]); !r) return zrt::pass(r);
  steps.outputs = std::move(kept);
  return loss_id;
}

zrt::Result<void> Training::add_updates(const TrainOptions& o, fused::ValueId loss) {
  std::vector<fused::ValueId> parameters;
  for (const TrainFeed& parameter : trainee_.parameters) parameters.push_back(parameter.id);
  const auto types = feed_types();
  fused::Graft graft(trainee_.steps, types);
  auto gradients = zrt::ir::gradient::differentiate(graft, loss, parameters);
  if (!gradients) return zrt::pass(gradients);
  clip(graft.builder(), *gradients, o.clip_norm);
  const Tensor rate = graft.feed({zrt::default_accumulator(trainee_.parameters[0].value.type.dtype), {}});
  const auto slots = with_optimizer(o, [&](const auto& optimizer) {
    return zrt::ir::train::update(graft, optimizer, parameters, gradients->span(), rate);
  });
  if (!slots) return zrt::pass(slots);
  rate_ = {"rate", graft.id_of(rate), zeros_of(rate.type())};
  for (const auto& slot : *slots)
    slots_.push_back({"optimizer/" + std::to_string(slots_.size()), slot.id, zeros_of(slot.type)});
  auto made = graft.finish();
  if (!made) return zrt::pass(made);
  trainee_.steps = std::move(*made);
  return {};
}

zrt::Result<void> Training::make_ready(const TrainOptions& o) {
  auto types = feed_types();
  types.push_back({rate_.id, program::type_of(rate_.value)});
  for (const TrainFeed& slot : slots_) types.push_back({slot.id, program::type_of(slot.value)});
  for (const bool training : {false, true}) {
    const auto in_mode = fused::instantiate(trainee_.steps, types, training);
    if (!in_mode) return zrt::pass(in_mode);
    std::vector<ptir::Shape> shapes;
    for (const ptir::Parameter& parameter : in_mode->regions[0].parameters) shapes.push_back(parameter.type.shape);
    auto ready = ready_program(*in_mode, shapes, {o.backend, o.threads});
    if (!ready) return zrt::pass(ready);
    ready_[training ? 1 : 0] = std::move(*ready);
  }
  return {};
}

std::vector<fused::FeedType> Training::feed_types() const {
  std::vector<fused::FeedType> types;
  for (const auto* feeds : {&trainee_.batch, &trainee_.parameters, &trainee_.fixed})
    for (const TrainFeed& feed : *feeds) types.push_back({feed.id, program::type_of(feed.value)});
  return types;
}

Array& Training::memory_of(fused::ValueId id) {
  for (auto* feeds : {&trainee_.batch, &trainee_.parameters, &trainee_.fixed, &slots_})
    for (TrainFeed& feed : *feeds)
      if (feed.id == id) return feed.value;
  return rate_.value;
}

void Training::fill(const Examples& examples, std::span<const std::uint32_t> rows) {
  for (TrainFeed& feed : trainee_.batch) copy_rows(*examples.find(feed.name), rows, feed.value);
}

zrt::Result<Training::Outcome> Training::run(bool training, double rate, std::uint64_t seed) {
  if (rate_.value.type.dtype == zrt::DType::f64) {
    std::memcpy(rate_.value.data.data(), &rate, sizeof rate);
  } else {
    const auto narrow = static_cast<float>(rate);
    std::memcpy(rate_.value.data.data(), &narrow, sizeof narrow);
  }
  TensorProgram& ready = *ready_[training ? 1 : 0];
  std::vector<zrt::ConstTensorView> inputs;
  for (const fused::ValueId id : trainee_.steps.feeds) {
    const Array& array = memory_of(id);
    inputs.push_back({array.type.dtype, array.type.shape, array.data});
  }
  // A program that draws takes the run's seed after the feeds.
  if (ready.plan().plan.inputs.size() > inputs.size())
    inputs.push_back({zrt::DType::si64, {}, std::as_bytes(std::span(&seed, 1))});
  std::vector<zrt::TensorView> outputs{{zrt::DType::f32, {}, std::as_writable_bytes(std::span(&outcome_.loss, 1))}};
  if (has_accuracy_) outputs.push_back({zrt::DType::f32, {}, std::as_writable_bytes(std::span(&outcome_.accuracy, 1))});
  // Inputs are read before outputs are written.
  for (const fused::StateUpdate& state : trainee_.steps.state_out) {
    Array& array = memory_of(state.state);
    outputs.push_back({array.type.dtype, array.type.shape, array.data});
  }
  if (auto r = ready.run(inputs, outputs); !r) return zrt::pass(r);
  return outcome_;
}

}  // namespace program
