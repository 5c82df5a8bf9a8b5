// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan_json.cpp: a compiled plan as JSON.
#include "plan_json.hpp"
#include <zrt/exec/batch.hpp>
#include <zrt/plan/layer_of.hpp>
#include <zrt/plan/traffic.hpp>

#include <nlohmann/json.hpp>

#include <bit>
#include <cstring>

namespace program {

using Json = nlohmann::ordered_json;
using zrt::plan::ExecutionPlan;
using zrt::plan::LivenessMap;

std::string type_text(const ExecutionPlan& plan, const zrt::TensorType& type) {
  std::string text(name(type.dtype));
  text += " [";
  for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis) {
    const zrt::Dim dim = type.shape[axis];
    if (axis != 0) text += ", ";
    if (dim.symbol == 0 || dim.extent != 1) text += std::to_string(dim.extent);
    if (dim.symbol == 0) continue;
    if (dim.extent != 1) text += "*";
    text += plan.symbols[dim.symbol - 1u].name.view();
  }
  return text + "]";
}

namespace {

std::string text_of(std::string_view view) { return std::string(view); }

/// One element of a parameter block, by its field's kind.
Json element(const zrt::Field& field, const std::byte* at) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, field.size);
  switch (field.kind) {
    case zrt::FieldKind::floating:
      return field.size == 4 ? double{std::bit_cast<float>(static_cast<std::uint32_t>(bits))}
                             : std::bit_cast<double>(bits);
    case zrt::FieldKind::signed_integer: {
      const int unused = 64 - 8 * field.size;
      return static_cast<std::int64_t>(bits << unused) >> unused;
    }
    case zrt::FieldKind::unsigned_integer:
      break;
  }
  return bits;
}

Json params_json(const zrt::OpRow& row, const zrt::ParamBlock& block) {
  Json out = Json::object();
  for (const zrt::Field& field : row.fields) {
    if (field.name == "reserved") continue;
    if (field.count == 1) {
      out[text_of(field.name)] = element(field, block.data.data() + field.offset);
      continue;
    }
    Json list = Json::array();
    for (std::size_t i = 0; i < field.count; ++i)
      list.push_back(element(field, block.data.data() + field.offset + i * field.size));
    out[text_of(field.name)] = std::move(list);
  }
  return out;
}

/// Role names with what stands there; absent optional operands are left out. Operands of a role that
/// repeats are numbered from 0.
template <class Ref, class Write>
Json operands_json(std::span<const zrt::Role> roles, bool repeats, zrt::Span<const Ref> refs, Ref absent, Write write) {
  Json out = Json::object();
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (refs[i] == absent) continue;
    const bool numbered = repeats && i + 1 >= roles.size();
    const std::string role = text_of(roles[numbered ? roles.size() - 1 : i].name);
    out[numbered ? role + "." + std::to_string(i + 1 - roles.size()) : role] = write(refs[i]);
  }
  return out;
}

Json ports_json(const zrt::Vector<zrt::plan::PlanPort>& ports) {
  Json out = Json::object();
  for (const zrt::plan::PlanPort& port : ports) out[text_of(port.name.view())] = index(port.reg);
  return out;
}

template <class List, class Write> Json list_json(const List& list, Write write) {
  Json out = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) out.push_back(write(i));
  return out;
}

std::string_view name_of(zrt::Rung rung) {
  switch (rung) {
    case zrt::Rung::macro:
      return "macro";
    case zrt::Rung::fused:
      return "fused";
    case zrt::Rung::primitive:
      break;
  }
  return "primitive";
}

Json region_json(const ExecutionPlan& region);

Json instruction_json(const ExecutionPlan& plan, std::size_t i) {
  const zrt::plan::Instruction insn = plan.instruction(i);
  const zrt::OpRow& row = *op_table()[number(insn.opcode)];
  const auto reg = [](zrt::plan::RegisterRef r) { return index(r); };
  const auto weight = [&](zrt::plan::WeightRef w) { return text_of(plan.weights[index(w)].name.view()); };
  Json out{
      {"index", i}, {"op", text_of(row.name)}, {"opcode", number(insn.opcode)}, {"rung", text_of(name_of(row.rung))}};
  out["inputs"] = operands_json(row.inputs, row.repeats_inputs, insn.inputs, zrt::plan::kNoRegister, reg);
  out["outputs"] = operands_json(row.outputs, row.repeats_outputs, insn.outputs, zrt::plan::kNoRegister, reg);
  out["weights"] = operands_json(row.weights, false, insn.weights, zrt::plan::kNoWeight, weight);
  if (insn.state_block_id) out["state"] = *insn.state_block_id;
  if (insn.param_block_id) out["params"] = params_json(row, plan.param_block(*insn.param_block_id));
  const auto& record = plan.instructions[i];
  for (std::size_t r = 0; r < record.regions; ++r)
    out["regions"].push_back(region_json(plan.regions[record.first_region + r]));
  return out;
}

/// The body of a loop or a branch, whose registers are its own.
Json region_json(const ExecutionPlan& region) {
  const auto registers = [](const auto& ports) {
    return list_json(ports, [&](std::size_t i) { return index(ports[i].reg); });
  };
  return {{"inputs", registers(region.inputs)},
          {"outputs", registers(region.outputs)},
          {"instructions", list_json(region.instructions, [&](std::size_t i) { return instruction_json(region, i); })},
          {"registers", list_json(region.registers, [&](std::size_t i) {
             return Json{{"index", i}, {"type", type_text(region, region.registers[i])}};
           })}};
}

/// An instruction of the plan itself, with its layer and the registers that nobody reads behind it.
Json instruction_json(const zrt::plan::CompiledPlan& compiled, std::size_t i, std::uint32_t layer) {
  Json out = instruction_json(compiled.plan, i);
  if (layer != zrt::plan::kNoLayer) out["layer"] = layer;
  Json dies = Json::array();
  for (const zrt::plan::RegisterRef r : compiled.liveness.kill_after_instruction(i)) dies.push_back(index(r));
  out["dies"] = std::move(dies);
  return out;
}

Json register_json(const zrt::plan::CompiledPlan& compiled, std::size_t i) {
  const std::uint32_t last = compiled.liveness.register_last_read[i];
  Json out{{"index", i},
           {"type", type_text(compiled.plan, compiled.plan.registers[i])},
           {"first_write", compiled.liveness.register_first_write[i]}};
  if (last == LivenessMap::kNeverRead)
    out["last_read"] = "never";
  else if (last == LivenessMap::kReadAfterEnd)
    out["last_read"] = "caller";
  else
    out["last_read"] = last;
  return out;
}

Json diagnostic_json(const zrt::plan::PlanDiagnostic& d, const zrt::plan::ExecutionPlan& plan) {
  return {{"level", d.level == zrt::Severity::warning ? "warn" : "info"},
          {"instruction", d.instruction},
          {"text", text_of(zrt::plan::finding(d, plan, op_table()).error.text())}};
}

Json state_json(const zrt::StateDescriptor& d) {
  const bool paged = d.lifecycle == zrt::StateLifecycle::kv_paged;
  Json out = {{"id", d.id},
              {"lifecycle", paged ? "kv_paged" : "recurrent"},
              {"type", text_of(name(d.info.dtype))},
              {"unit", paged ? "page of 16 positions" : "slot"},
              {"unit_bytes", d.size_bytes}};
  if (const std::uint32_t window = zrt::window_of(d.info); window != 0) {
    out["cache_group"] = d.info.group;
    out["window"] = window;
  }
  return out;
}

Json weight_json(const ExecutionPlan& plan, const zrt::plan::PlanWeight& w) {
  return {{"name", text_of(w.name.view())},
          {"type", type_text(plan, {w.dtype, w.shape})},
          {"bytes", zrt::plan::weight_bytes(w)}};
}

/// One token in each slot, with the cache full: the most that a step of generation moves.
zrt::plan::StepWork full_decode(const ExecutionPlan& plan, std::uint32_t slots, std::uint32_t context) {
  zrt::plan::StepWork step{.tokens = slots, .slots = slots, .cached = std::uint64_t{slots} * context};
  for (std::size_t i = 0; i < plan.symbols.size(); ++i) step.extents.value[i + 1] = plan.symbols[i].bound;
  for (const std::string_view symbol : {zrt::exec::port::kTokens, zrt::exec::port::kRows})
    step.extents.value[plan.symbol(symbol)] = slots;
  return step;
}

Json split_json(const zrt::plan::PlanSplit& split) {
  Json handed_over = Json::array();
  for (const zrt::plan::RegisterRef reg : split.handed_over) handed_over.push_back(zrt::plan::index(reg));
  return {{"layers", split.layers},
          {"device_layers", split.last_layers},
          {"first_of_device", split.begin},
          {"handed_over", std::move(handed_over)}};
}

}  // namespace

Json plan_json(Model& model) {
  Json out = plan_json(model.plan(), model.backend(), model.isa());
  if (const zrt::plan::PlanSplit* const split = model.split()) out["split"] = split_json(*split);
  const ExecutionPlan& plan = model.plan().plan;
  const zrt::plan::StepWork step = full_decode(plan, model.memory_parts().slots, model.context());
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    const zrt::plan::Traffic t = zrt::plan::traffic(plan, plan.instruction(i), step);
    out["instructions"][i]["bytes"] = {{"weights", t.weights}, {"pages", t.pages}, {"activations", t.activations}};
  }
  out["step"] = {{"tokens", step.tokens}, {"slots", step.slots}, {"cached", step.cached}};
  out["model"] = {{"name", text_of(model.file().get<std::string_view>("general.name").value_or(""))},
                  {"architecture", text_of(model.file().get<std::string_view>("general.architecture").value_or(""))}};
  return out;
}

Json plan_json(const zrt::plan::CompiledPlan& compiled, std::string_view backend, std::string_view isa) {
  const ExecutionPlan& plan = compiled.plan;
  const auto layers = zrt::plan::layers(plan);  // none where memory is short: then no instruction names one
  const auto layer_of = [&](std::size_t i) { return layers ? (*layers)[i] : zrt::plan::kNoLayer; };
  return {{"backend", text_of(backend)},
          {"isa", text_of(isa)},
          {"peak_registers", compiled.peak_registers},
          {"inputs", ports_json(plan.inputs)},
          {"outputs", ports_json(plan.outputs)},
          {"instructions",
           list_json(plan.instructions, [&](std::size_t i) { return instruction_json(compiled, i, layer_of(i)); })},
          {"registers", list_json(plan.registers, [&](std::size_t i) { return register_json(compiled, i); })},
          {"states", list_json(plan.states, [&](std::size_t i) { return state_json(plan.states[i]); })},
          {"weights", list_json(plan.weights, [&](std::size_t i) { return weight_json(plan, plan.weights[i]); })},
          {"diagnostics", list_json(compiled.diagnostics, [&](std::size_t i) {
             return diagnostic_json(compiled.diagnostics[i], compiled.plan);
           })}};
}

}  // namespace program
