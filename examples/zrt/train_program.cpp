// SPDX-License-Identifier: Apache-2.0
// examples/zrt/train_program.cpp: a tensor program with its loss, gradients and updates.
#include "npz.hpp"
#include "onnx_variables.hpp"
#include "output.hpp"
#include "program_file.hpp"
#include "train_loss.hpp"
#include "train_program.hpp"
#include <zrt/ir/fused/from_ptir.hpp>
#include <zrt/ir/fused/json.hpp>
#include <zrt/ir/gradient/differentiate.hpp>
#include <zrt/ir/train/optimizer.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace program {
namespace {

namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;
using ptir::Tensor;

ptir::TensorType type_of(const Array& array) {
  ptir::TensorType type{array.type.dtype, {}};
  for (std::uint8_t axis = 0; axis < array.type.shape.rank; ++axis) type.shape.append(array.type.shape[axis].extent);
  return type;
}

/// A tensor of zeros.
Array zeros_of(const ptir::TensorType& type) {
  Array array{{type.dtype, {}}, {}};
  for (const ptir::Dim dim : type.shape.view())
    array.type.shape = array.type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
  array.data.resize(static_cast<std::size_t>(ptir::literal_bytes(type).raw()));
  return array;
}

/// Room for a batch of an example tensor.
Array batch_of(const Array& examples, std::uint32_t batch) {
  ptir::TensorType type = type_of(examples);
  type.shape.dims[0] = ptir::Dim(std::int64_t{batch});
  return zeros_of(type);
}

/// Draws a tensor of two or more axes from ±1 / sqrt(elements by output), the last axis being the outputs; others are
/// zeros.
Array drawn(const ptir::TensorType& type, SplitMix& draws) {
  Array array = zeros_of(type);
  if (type.dtype != zrt::DType::f32 || type.shape.rank < 2) return array;
  const auto outputs = type.shape[static_cast<std::uint8_t>(type.shape.rank - 1)].constant();
  const std::size_t count = array.data.size() / sizeof(float);
  const double scale = 1 / std::sqrt(static_cast<double>(count) / static_cast<double>(outputs));
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(draws.real(scale));
    std::memcpy(array.data.data() + i * sizeof value, &value, sizeof value);
  }
  return array;
}

/// "*" stands for any characters.
bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
  return !name.empty() && pattern[0] == name[0] && matches(pattern.substr(1), name.substr(1));
}

/// Puts first values of the archive `path` in the place of those that are there.
zrt::Result<void> take_values(const std::string& path, std::vector<TrainFeed>& parameters) {
  const auto archive = read_file(path);
  if (!archive) return zrt::pass(archive);
  const auto members = read_npz(*archive);
  if (!members) return std::unexpected(of_file(members.error(), path));
  for (const NpzMember& member : *members) {
    const auto found = std::ranges::find(parameters, member.name, &TrainFeed::name);
    if (found == parameters.end())
      return zrt::fail(zrt::Errc::not_found, std::string_view(path), ": the program has no parameter ",
                       std::string_view(member.name));
    auto value = read_npy(member.bytes, found->value.type.dtype);
    if (!value)
      return zrt::fail(value.error().code(), std::string_view(path), ": ", std::string_view(member.name), ": ",
                       value.error().text());
    if (!(value->type == found->value.type))
      return zrt::fail(zrt::Errc::shape_mismatch, std::string_view(path), ": ", std::string_view(member.name),
                       " has another shape than the program's parameter");
    found->value = std::move(*value);
  }
  return {};
}

/// A program's feeds, sorted into what examples fill and what training moves.
class Roles {
 public:
  Roles(const TrainOptions& o, const Examples& examples, Trainee& trainee)
      : o_(o), examples_(examples), trainee_(trainee), draws_(o.seed) {}

  [[nodiscard]] zrt::Result<void> add(std::string name, fused::ValueId id, const ptir::TensorType& type,
                                      const Array* value = nullptr) {
    if (const Array* of = value == nullptr ? examples_.find(name) : nullptr; of != nullptr) {
      if (of->type.dtype != type.dtype)
        return zrt::fail(zrt::Errc::dtype_mismatch, "input ", std::string_view(name), ": expected ",
                         zrt::name(type.dtype), ", the examples have ", zrt::name(of->type.dtype));
      trainee_.batch.push_back({std::move(name), id, batch_of(*of, o_.batch)});
      return {};
    }
    if (!type.shape.is_constant())
      return zrt::fail(zrt::Errc::invalid_argument, "input ", std::string_view(name),
                       " has open extents and no examples of its name");
    const bool freezes =
        std::ranges::any_of(o_.freeze, [&](const std::string& pattern) { return matches(pattern, name); });
    if (!freezes && !zrt::is_float(type.dtype))
      return zrt::fail(zrt::Errc::invalid_argument, "input ", std::string_view(name), " is ", zrt::name(type.dtype),
                       " and has no examples of its name; only floats can be trained");
    (freezes ? trainee_.fixed : trainee_.parameters)
        .push_back({std::move(name), id, value != nullptr ? *value : drawn(type, draws_)});
    return {};
  }

 private:
  const TrainOptions& o_;
  const Examples& examples_;
  Trainee& trainee_;
  SplitMix draws_;
};

/// The name of the value that leaves as output `place`, or result.0, result.1 and so on.
zrt::Name output_name(const ptir::Program& source, std::size_t place) {
  const ptir::Region& main = source.regions[0];
  const ptir::Operand& operand = main.results[place].operand;
  if (operand.kind == ptir::Operand::Kind::value) {
    for (const ptir::Parameter& input : main.parameters)
      if (input.id == operand.id && !input.name.view().empty()) return input.name;
    for (const ptir::Instruction& i : main.instructions)
      if (i.id == operand.id && !i.name.view().empty()) return i.name;
  }
  return zrt::Name::of("result.", static_cast<unsigned>(place));
}

/// The steps of a PTIR program, under whose ids its inputs stay.
zrt::Result<Trainee> from_program(const ptir::Program& source) {
  std::vector<zrt::Name> names;
  for (std::size_t i = 0; i < source.regions[0].results.size(); ++i) names.push_back(output_name(source, i));
  auto steps = fused::from_ptir(source, names);
  if (!steps) return zrt::pass(steps);
  return Trainee{std::move(*steps)};
}

zrt::Result<Trainee> read_trained_onnx(const TrainOptions& o, const Examples& examples) {
  auto source = open_onnx(o.file);
  if (!source) return zrt::pass(source);
  const auto declared = declared_in(*source);
  if (!declared) return std::unexpected(of_file(declared.error(), o.file));
  std::vector<DeclaredTensor> types;
  for (const DeclaredTensor& input : declared->inputs)
    if (const Array* of = examples.find(input.name); of != nullptr) {
      types.push_back({input.name, input.dtype, {}, true});
      for (std::uint8_t axis = 0; axis < of->type.shape.rank; ++axis)
        types.back().axes.push_back({{}, axis == 0 ? o.batch : of->type.shape[axis].extent});
    }
  auto variables = variables_of(*source);
  if (!variables) return std::unexpected(of_file(variables.error(), o.file));
  const auto read = read_onnx(*source, *variables, types);
  if (!read) return std::unexpected(of_file(read.error(), o.file));
  auto trainee = from_program(*read);
  if (!trainee) return trainee;
  Roles roles(o, examples, *trainee);
  const auto& inputs = read->regions[0].parameters;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool varies = i < variables->size();
    if (auto r = roles.add(varies ? (*variables)[i].name : input_name(inputs[i]), inputs[i].id, inputs[i].type,
                           varies ? &(*variables)[i].value : nullptr);
        !r)
      return zrt::pass(r);
  }
  return trainee;
}

zrt::Result<Trainee> read_trained_steps(const TrainOptions& o, const std::string& text, const Examples& examples) {
  auto steps = fused::parse_json(text);
  if (!steps) return std::unexpected(of_file(steps.error(), o.file));
  Trainee trainee{std::move(*steps)};
  if (!trainee.steps.state_out.empty())
    return zrt::fail(zrt::Errc::invalid_argument, std::string_view(o.file), ": the program updates state ",
                     trainee.steps.state_out[0].state, " itself, expected one without updates");
  Roles roles(o, examples, trainee);
  for (const fused::ValueId id : trainee.steps.feeds) {
    const fused::Meta* meta = trainee.steps.meta_of(id);
    std::string name = std::to_string(id);
    const Array* of = examples.find(name);
    if (meta == nullptr && of == nullptr)
      return zrt::fail(zrt::Errc::invalid_argument, std::string_view(o.file), ": feed ", id,
                       " has neither a type in meta nor examples of its name");
    if (auto r = roles.add(std::move(name), id, meta != nullptr ? meta->type : type_of(*of)); !r) return zrt::pass(r);
  }
  return trainee;
}

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

zrt::Result<Trainee> read_trainee(const TrainOptions& o, const Examples& examples) {
  zrt::Result<Trainee> trainee;
  if (o.file.ends_with(".onnx")) {
    trainee = read_trained_onnx(o, examples);
  } else {
    const auto text = read_file(o.file);
    if (!text) return zrt::pass(text);
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    if (json.is_object() && json.contains("steps")) {
      trainee = read_trained_steps(o, *text, examples);
    } else {
      std::vector<std::string> none;
      const auto source = read_program(o.file, none, {});
      if (!source) return zrt::pass(source);
      trainee = from_program(*source);
      if (!trainee) return trainee;
      Roles roles(o, examples, *trainee);
      for (const ptir::Parameter& input : source->regions[0].parameters)
        if (auto r = roles.add(input_name(input), input.id, input.type); !r) return zrt::pass(r);
    }
  }
  if (!trainee) return trainee;
  if (trainee->parameters.empty()) return zrt::fail(zrt::Errc::invalid_argument, "the program has no parameters");
  if (!o.parameters.empty())
    if (auto r = take_values(o.parameters, trainee->parameters); !r) return zrt::pass(r);
  return trainee;
}

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
