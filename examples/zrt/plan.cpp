// SPDX-License-Identifier: Apache-2.0
// examples/zrt/plan.cpp: the instructions and the memory of a model, for people, browsers, Graphviz and programs.
#include "commands.hpp"
#include "output.hpp"
#include "plan_json.hpp"
#include "plan_page.hpp"

#include <nlohmann/json.hpp>

namespace program {
namespace {

using Json = nlohmann::ordered_json;

std::string registers_text(const Json& operands) {
  std::string out;
  for (const auto& [role, reg] : operands.items()) out += (out.empty() ? "" : ", ") + role + "=r" + reg.dump();
  return out;
}

std::string list_text(const Json& registers) {
  std::string out;
  for (const Json& reg : registers) out += (out.empty() ? "r" : ", r") + reg.dump();
  return out;
}

/// An instruction, and indented below it those of its regions, whose registers are their own.
std::string instruction_text(const Json& insn, const Json& registers, const std::string& indent = "  ") {
  std::string out = indent + insn["index"].dump() + ": ";
  for (const auto& [role, reg] : insn["outputs"].items())
    out += "r" + reg.dump() + " " + registers[reg.get<std::size_t>()]["type"].get<std::string>() + ", ";
  out.replace(out.size() - 2, 2, " = ");
  out += insn["op"].get<std::string>() + "(" + registers_text(insn["inputs"]) + ")";
  for (const auto& [role, weight] : insn["weights"].items()) out += " " + role + "=" + weight.get<std::string>();
  if (insn.contains("state")) out += " state=" + insn["state"].dump();
  if (insn.contains("params"))
    for (const auto& [field, value] : insn["params"].items()) out += " ." + field + "=" + value.dump();
  if (insn.contains("dies") && !insn["dies"].empty()) {
    out += "  dies:";
    for (const Json& reg : insn["dies"]) out += " r" + reg.dump();
  }
  out += "\n";
  if (!insn.contains("regions")) return out;
  for (const Json& region : insn["regions"]) {
    out += indent + "  region(" + list_text(region["inputs"]) + ")\n";
    for (const Json& inner : region["instructions"])
      out += instruction_text(inner, region["registers"], indent + "    ");
    out += indent + "  gives " + list_text(region["outputs"]) + "\n";
  }
  return out;
}

/// Where a plan on two backends is cut.
std::string split_text(const Json& split, const Json& plan) {
  const auto device = split["device_layers"].get<std::uint32_t>(), layers = split["layers"].get<std::uint32_t>();
  const auto first = split["first_of_device"].get<std::size_t>();
  const std::size_t end = plan["instructions"].size();
  std::string out = "processor: the first " + std::to_string(layers - device) + " of " + std::to_string(layers) +
                    " layers, instructions 0 to " + std::to_string(first - 1) + "\n";
  out += "device: the last " + std::to_string(device) + " layers and the head, instructions " + std::to_string(first) +
         " to " + std::to_string(end - 1) + "\n";
  out += "handed over:";
  for (const Json& reg : split["handed_over"])
    out += " r" + reg.dump() + " " + plan["registers"][reg.get<std::size_t>()]["type"].get<std::string>();
  return out + "\n";
}

}  // namespace

std::string plan_text(const Json& plan) {
  std::string out = plan["backend"].get<std::string>() + " (" + plan["isa"].get<std::string>() + "), " +
                    std::to_string(plan["instructions"].size()) + " instructions, " +
                    std::to_string(plan["registers"].size()) + " registers, at most " + plan["peak_registers"].dump() +
                    " alive\n";
  if (plan.contains("split")) out += split_text(plan["split"], plan);
  if (plan.contains("arena_bytes")) out += "an arena of " + plan["arena_bytes"].dump() + " bytes\n";
  out += "\ninputs\n";
  for (const auto& [port, reg] : plan["inputs"].items())
    out += "  r" + reg.dump() + " " + plan["registers"][reg.get<std::size_t>()]["type"].get<std::string>() + "  " +
           port + "\n";
  out += "\ninstructions\n";
  for (const Json& insn : plan["instructions"]) out += instruction_text(insn, plan["registers"]);
  out += "\noutputs\n  " + registers_text(plan["outputs"]) + "\n\nregisters: first write, last read\n";
  for (const Json& r : plan["registers"])
    out += "  r" + r["index"].dump() + " " + r["type"].get<std::string>() + ": " + r["first_write"].dump() + ", " +
           (r["last_read"].is_string() ? r["last_read"].get<std::string>() : r["last_read"].dump()) + "\n";
  out += "\nstates\n";
  for (const Json& s : plan["states"]) {
    out += "  " + s["id"].dump() + ": " + s["lifecycle"].get<std::string>() + " " + s["type"].get<std::string>() +
           ", " + s["unit_bytes"].dump() + " bytes per " + s["unit"].get<std::string>();
    if (s.contains("window"))
      out += ", cache group " + s["cache_group"].dump() + " with a window of " + s["window"].dump();
    out += "\n";
  }
  out += "\ndiagnostics\n";
  for (const Json& d : plan["diagnostics"])
    out += "  " + d["level"].get<std::string>() + ": " + d["instruction"].dump() + ": " + d["text"].get<std::string>() +
           "\n";
  return out;
}

namespace {

/// Instructions as nodes, registers as edges.
std::string plan_dot(const Json& plan) {
  std::string out = "digraph plan {\n  node [shape=box];\n";
  std::vector<std::string> producer(plan["registers"].size());
  for (const auto& [port, reg] : plan["inputs"].items()) {
    producer[reg.get<std::size_t>()] = "\"" + port + "\"";
    out += "  \"" + port + "\" [shape=ellipse];\n";
  }
  for (const Json& insn : plan["instructions"]) {
    const std::string node = "i" + insn["index"].dump();
    out += "  " + node + " [label=\"" + insn["index"].dump() + " " + insn["op"].get<std::string>() + "\"];\n";
    for (const auto& [role, reg] : insn["inputs"].items())
      out += "  " + producer[reg.get<std::size_t>()] + " -> " + node + " [label=\"r" + reg.dump() + " " +
             plan["registers"][reg.get<std::size_t>()]["type"].get<std::string>() + "\"];\n";
    for (const auto& [role, reg] : insn["outputs"].items()) producer[reg.get<std::size_t>()] = node;
  }
  for (const auto& [port, reg] : plan["outputs"].items())
    out += "  \"" + port + "\" [shape=ellipse];\n  " + producer[reg.get<std::size_t>()] + " -> \"" + port + "\";\n";
  return out + "}\n";
}

std::string line(const std::string& what, const Json& bytes, std::size_t width = 20) {
  return what + std::string(what.size() < width ? width - what.size() : 1, ' ') + bytes.dump() + " bytes (" +
         bytes_text(bytes.get<std::uint64_t>()) + ")\n";
}

std::string arena_text(const std::string& title, const Json& arena) {
  std::string out = line(title, arena["bytes"]);
  for (const Json& buffer : arena["buffers"]) {
    out += "  at " + buffer["offset"].dump() + ": " + buffer["bytes"].dump() + " bytes:";
    for (const Json& reg : buffer["registers"]) out += " r" + reg.dump();
    out += buffer["registers"].empty() ? " scratch\n" : "\n";
  }
  return out;
}

/// Each heap, and indented below it what lies there.
std::string heaps_text(const Json& heaps) {
  std::string out = "\nby heap\n";
  for (const Json& heap : heaps) {
    out += line(heap["heap"].get<std::string>(), heap["bytes"], 36);
    for (const Json& part : heap["parts"]) out += line("  " + part["what"].get<std::string>(), part["bytes"], 36);
  }
  return out;
}

std::string memory_text(const Json& m) {
  std::string out = m["backend"].get<std::string>() + ", " + m["slots"].dump() + " slots of " + m["context"].dump() +
                    " positions\n\n";
  if (m.contains("weights_mapped_bytes")) out += line("weights, mapped", m["weights_mapped_bytes"]);
  if (m.contains("weights_uploaded_bytes")) out += line("weights, uploaded", m["weights_uploaded_bytes"]);
  out += line("constants", m["constants_bytes"]) + line("states", m["state_bytes"]);
  for (const Json& s : m["states"])
    out += "  state " + s["id"].dump() + ": " + s["units"].dump() + " units of " + s["unit_bytes"].dump() + " bytes\n";
  out += arena_text("prefill arena", m["prefill_arena"]) + arena_text("decode arena", m["decode_arena"]);
  return out + line("other", m["other_allocated_bytes"]) + line("allocated in all", m["allocated_bytes"]) +
         heaps_text(m["heaps"]);
}

std::string render(Model& model, const PlanOptions& o) {
  if (o.format == "html") return drawing::plan_page(plan_json(model), memory_json(model));
  const Json json = o.memory ? memory_json(model) : plan_json(model);
  if (o.format == "json") return json.dump(2) + "\n";
  if (o.memory) return memory_text(json);
  return o.format == "dot" ? plan_dot(json) : plan_text(json);
}

}  // namespace

int plan(const PlanOptions& o) {
  if (o.memory && o.format == "dot") return usage("a memory map has no form for Graphviz; use --format text or json");
  zrt::EngineOptions options;
  options.context = o.context;
  options.slots = o.slots;
  options.kv_type = kv_type(o.kv);
  options.numerics.act = act_policy(o.act);
  auto model = open_model(o.model, options);
  if (!model) return failed(model.error());
  return print(render(**model, o)) ? kOk : cannot_write("stdout");
}

}  // namespace program
