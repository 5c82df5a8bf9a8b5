// SPDX-License-Identifier: Apache-2.0
// examples/zrt/trainee.cpp: tensor programs that are to be trained, from files.
#include "npz.hpp"
#include "onnx_variables.hpp"
#include "output.hpp"
#include "program_file.hpp"
#include "trainee.hpp"
#include <zrt/ir/fused/from_ptir.hpp>
#include <zrt/ir/fused/json.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace program {

namespace fused = zrt::ir::fused;
namespace ptir = zrt::ir::ptir;

ptir::TensorType type_of(const Array& array) {
  ptir::TensorType type{array.type.dtype, {}};
  for (std::uint8_t axis = 0; axis < array.type.shape.rank; ++axis) type.shape.append(array.type.shape[axis].extent);
  return type;
}

Array zeros_of(const ptir::TensorType& type) {
  Array array{{type.dtype, {}}, {}};
  for (const ptir::Dim dim : type.shape.view())
    array.type.shape = array.type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
  array.data.resize(static_cast<std::size_t>(ptir::literal_bytes(type).raw()));
  return array;
}

Array batch_of(const Array& examples, std::uint32_t batch) {
  ptir::TensorType type = type_of(examples);
  type.shape.dims[0] = ptir::Dim(std::int64_t{batch});
  return zeros_of(type);
}

namespace {

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

/// Puts first values of the archive `path` in the place of those that are there, of frozen parameters too.
zrt::Result<void> take_values(const std::string& path, Trainee& trainee) {
  const auto archive = read_file(path);
  if (!archive) return zrt::pass(archive);
  const auto members = read_npz(*archive);
  if (!members) return std::unexpected(of_file(members.error(), path));
  for (const NpzMember& member : *members) {
    TrainFeed* found = nullptr;
    for (auto* feeds : {&trainee.parameters, &trainee.fixed})
      for (TrainFeed& feed : *feeds)
        if (feed.name == member.name) found = &feed;
    if (found == nullptr)
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
    if (auto r = take_values(o.parameters, *trainee); !r) return zrt::pass(r);
  return trainee;
}

}  // namespace program
