// SPDX-License-Identifier: Apache-2.0
// tests/onnx/run_case.hpp: runs a node test on a backend and compares with its outputs.
#pragma once

#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx.hpp>

#include <expected>
#include <onnx/node_case.hpp>
#include <set>
#include <support/agreement.hpp>

namespace zrt::test {

namespace onnx = zrt::ir::onnx;

/// Tensors of a test by the order of the model's inputs or outputs.
struct CaseTensor {
  std::string name;
  zrt::TensorType type{};
  ir::ptir::TensorType program_type{};
  std::vector<std::byte> bytes;
  bool strings = false;  ///< the elements are numbers of strings
};

[[nodiscard]] inline Outcome refused(const Error& error) {
  Outcome outcome{Outcome::unsupported, "unsupported: " + std::string(error.text())};
  // A program that was accepted must not fail, and a file of this set is not broken.
  for (char& c : outcome.text)
    if (c == '|' || c == '\n') c = '/';
  return outcome;
}

/// The tensor of a message, for a value that a model declares to be a tensor of TypeProto `type`.
///
/// Errors: those of reading a tensor.
[[nodiscard]] inline Result<CaseTensor> case_tensor(std::string_view message, std::string name, std::string_view type,
                                                    onnx::StringTable& strings) {
  const auto data = onnx::read_tensor(message, system_allocator(), nullptr, &strings);
  if (!data) return pass(data);
  CaseTensor t;
  t.strings = data->strings;
  t.name = std::move(name);
  t.program_type = data->type;
  // The data set stores bf16 as the words of ui16; the model says what they are.
  const auto declared = onnx::read_type(type, [](std::string_view, std::uint8_t) { return ir::ptir::Dim::any(); });
  if (declared && declared->dtype == DType::bf16 && data->type.dtype == DType::ui16) t.program_type.dtype = DType::bf16;
  t.type.dtype = t.program_type.dtype;
  for (const ir::ptir::Dim dim : data->type.shape.view())
    t.type.shape = t.type.shape.appended(static_cast<std::uint32_t>(dim.constant()));
  t.bytes.assign(data->data.begin(), data->data.end());
  return t;
}

/// The tensors of a data set in order, and what the values are that are no tensors.
struct CaseValues {
  std::vector<CaseTensor> tensors{};
  std::vector<onnx::InputLength> lengths{};
};

/// The last field of that number; none where there is none.
[[nodiscard]] inline std::optional<std::string_view> field_in(std::string_view message, std::uint32_t number) {
  std::optional<std::string_view> found;
  (void)onnx::detail::each_field(message, [&](const onnx::WireField& f) -> Result<void> {
    if (f.number == number) found = f.bytes;
    return {};
  });
  return found;
}

/// What `messages` hold under the names of the model's values, of which the last may have no message: TensorProto,
/// SequenceProto or OptionalProto, as the model declares the value.
///
/// Errors: those of reading a tensor; Errc::shape_mismatch when there are more messages than values.
[[nodiscard]] inline Result<CaseValues> case_values(const std::vector<std::string>& messages,
                                                    const Vector<onnx::ValueView>& values, onnx::StringTable& strings) {
  constexpr std::uint32_t kTensor = 3, kSequence = 5;
  if (messages.size() > values.size())
    return fail(Errc::shape_mismatch, messages.size(), " tensors for the ", values.size(), " values of the model");
  CaseValues all;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string name(values[i].name);
    const auto form = onnx::read_form(values[i].type);
    if (!form) return pass(form);
    std::optional<std::string_view> message = messages[i];
    if (form->optional) message = field_in(*message, form->sequence ? kSequence : kTensor);
    if (!message) {
      all.lengths.push_back({values[i].name, 0, true});
      continue;
    }
    std::vector<std::string_view> tensors;
    const auto add = [&](const onnx::WireField& f) -> Result<void> {
      if (f.number == kTensor) tensors.push_back(f.bytes);
      return {};
    };
    if (!form->sequence)
      tensors.push_back(*message);
    else if (const auto read = onnx::detail::each_field(*message, add); !read)
      return pass(read);
    if (form->sequence) all.lengths.push_back({values[i].name, static_cast<std::uint32_t>(tensors.size())});
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      auto t =
          case_tensor(tensors[k], form->sequence ? name + "[" + std::to_string(k) + "]" : name, form->tensor, strings);
      if (!t) return pass(t);
      all.tensors.push_back(std::move(*t));
    }
  }
  return all;
}

/// The data set's tolerance: 1e-3 relative, 1e-7 absolute; for bf16, to which the data set cuts f32 where the standard
/// rounds it, one unit in the last place.
[[nodiscard]] constexpr Tolerance tolerance_of(DType dtype) { return {dtype == DType::bf16 ? 0x1p-7 : 1e-3, 1e-7}; }

/// The op of an instruction; of attention, whether its mask is a causal one, of an activation, which it is.
[[nodiscard]] inline std::string name_of(const plan::ExecutionPlan& plan, const plan::Instruction& instruction) {
  constexpr const char* kActs[kActivations]{"no", "silu", "gelu", "gelu_tanh", "relu2", "relu", "swiglu_oai"};
  std::string name(kOpTable<ops::Catalog>[number(instruction.opcode)] -> name);
  if (instruction.opcode == ops::Attention::opcode) {
    const auto params = decode_params<ops::Attention>(plan.param_block(*instruction.param_block_id));
    if (params && params->causal != 0) name = "causal " + name;
  } else if (instruction.opcode == ops::GatedAct::opcode) {
    const auto params = decode_params<ops::GatedAct>(plan.param_block(*instruction.param_block_id));
    const bool gated = instruction.inputs.size() > 1 && instruction.inputs[1] != plan::kNoRegister;
    if (params) name = std::string(gated ? "gated " : "") + kActs[static_cast<std::size_t>(params->act)];
  } else if (instruction.opcode == ops::BiasAct::opcode) {
    const auto params = decode_params<ops::BiasAct>(plan.param_block(*instruction.param_block_id));
    if (params) name = std::string("bias and ") + kActs[static_cast<std::size_t>(params->act)];
  }
  return name;
}

/// A test as a program, the inputs that it takes and the outputs that it gives.
struct ReadCase {
  ir::ptir::Program program;
  std::vector<CaseTensor> inputs;
  std::vector<CaseTensor> outputs;
  std::set<std::string> bound{};  ///< inputs that the reader was given as values
};

[[nodiscard]] inline std::expected<ReadCase, Outcome> read_case(const NodeCase& test) {
  const auto no = [](const Error& error) { return std::unexpected<Outcome>(refused(error)); };
  const auto model = onnx::read_model(test.model, system_allocator());
  if (!model) return no(model.error());
  const auto graph = onnx::read_graph(model->graph, system_allocator());
  if (!graph) return no(graph.error());
  onnx::ModelStrings strings;
  const auto inputs = case_values(test.inputs, graph->inputs, strings.table);
  // Inputs that decide a shape are given as values, one after the other as the reader asks for them.
  std::set<std::string> bound;
  Result<ir::ptir::Program> program = fail(Errc::unimplemented, "not read");
  while (true) {
    std::vector<onnx::BoundInput> values;
    std::vector<onnx::InputType> types;
    if (inputs)
      for (const CaseTensor& t : inputs->tensors) {
        if (bound.contains(t.name)) values.push_back({t.name, t.program_type, t.bytes});
        types.push_back({t.name, t.program_type});
      }
    Name needed;
    onnx::ReadOptions options;
    options.values = values;
    options.types = types;
    if (inputs) options.lengths = inputs->lengths;
    options.needed = &needed;
    options.strings = &strings;
    program = onnx::read(std::as_bytes(std::span(test.model)), options);
    if (program) break;
    const std::string name(needed.view());
    const auto is_input = [&](const CaseTensor& t) { return t.name == name; };
    if (name.empty() || !inputs || std::ranges::none_of(inputs->tensors, is_input) || !bound.insert(name).second)
      return no(program.error());
  }
  if (!inputs) return no(inputs.error());
  const auto outputs = case_values(test.outputs, graph->outputs, strings.table);
  if (!outputs) return no(outputs.error());
  for (std::size_t i = 0; i < outputs->tensors.size(); ++i)
    if (outputs->tensors[i].strings != (std::ranges::find(strings.outputs, i) != strings.outputs.end()))
      return std::unexpected<Outcome>({Outcome::wrong, "wrong: output " + std::to_string(i) + " is of strings or not"});
  ReadCase read{std::move(*program), {}, outputs->tensors, bound};
  for (const CaseTensor& t : inputs->tensors)
    if (!bound.contains(t.name)) read.inputs.push_back(t);
  return read;
}

template <class B> [[nodiscard]] Outcome run_case(const NodeCase& test, std::uint32_t threads, bool optimise) {
  const auto read = read_case(test);
  if (!read) return read.error();
  const std::vector<CaseTensor>& outputs = read->outputs;
  std::vector<ConstTensorView> from;
  std::vector<ir::ptir::Shape> shapes;
  for (const CaseTensor& t : read->inputs) {
    from.push_back({t.type.dtype, t.type.shape, t.bytes});
    shapes.push_back(t.program_type.shape);
  }
  ProgramOptions how;
  how.threads = threads;
  how.optimise = optimise;
  auto runner = ProgramRunner<B>::make(read->program, shapes, how);
  if (!runner && runner.error().code() == Errc::unsupported_opcode)
    return {Outcome::lacking, "lacking: " + std::string(runner.error().text())};
  if (!runner) return refused(runner.error());
  std::vector<std::vector<std::byte>> results;
  std::vector<TensorView> to;
  for (const CaseTensor& t : outputs) results.emplace_back(t.bytes.size());
  for (std::size_t i = 0; i < results.size(); ++i)
    to.push_back({outputs[i].type.dtype, outputs[i].type.shape, results[i]});
  if (const auto done = runner->run(from, to); !done)
    return {Outcome::failed, "failed: " + std::string(done.error().text())};
  Outcome outcome{Outcome::pass, "pass"};
  const plan::ExecutionPlan& plan = runner->compiled().plan;
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) ++outcome.ops[name_of(plan, plan.instruction(i))];
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const std::string differs = difference(outputs[i].type, outputs[i].bytes, results[i],
                                               tolerance_of(outputs[i].type.dtype), outcome.worst);
        !differs.empty() && outcome.kind == Outcome::pass) {
      outcome.kind = Outcome::wrong;
      outcome.text = "wrong: output " + std::to_string(i) + ": " + differs;
    }
  if (outcome.kind == Outcome::wrong) return outcome;
  std::string& text = outcome.text;
  for (const std::string& name : read->bound) text += (text == "pass" ? ", bound: " : " ") + name;
  return outcome;
}

}  // namespace zrt::test
