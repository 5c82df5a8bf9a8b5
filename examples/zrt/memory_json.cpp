// SPDX-License-Identifier: Apache-2.0
// examples/zrt/memory_json.cpp: the memory of an open engine as JSON.
#include "plan_json.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace program {

using Json = nlohmann::ordered_json;

namespace {

/// Bytes of the tensors that the plan names, each once: of a split plan those of its last part, or of its first.
std::uint64_t weight_bytes(Model& model, bool of_last) {
  const zrt::plan::PlanSplit* const split = model.split();
  std::size_t at = 0;
  std::set<std::string_view> seen;
  std::uint64_t bytes = 0;
  for (const zrt::plan::PlanWeight& w : model.plan().plan.weights) {
    const std::size_t i = at++;
    if (split != nullptr && !(of_last ? split->weights[i].last : split->weights[i].first)) continue;
    if (w.inline_data() || !seen.insert(w.name.view()).second) continue;
    if (const zrt::model::GgufTensor* tensor = model.file().find_tensor(w.name.view())) bytes += tensor->bytes;
  }
  return bytes;
}

/// Ranges of the arena with the registers, and the instructions' scratch, that lie there at one time or another.
Json arena_json(const zrt::plan::PhysicalMapping& mapping) {
  Json buffers = Json::array();
  std::vector<Json> scratch(mapping.physical_specs.size(), Json::array());
  for (std::size_t i = 0; i < mapping.scratch_to_physical.size(); ++i)
    if (const std::uint16_t s = mapping.scratch_to_physical[i]; s != zrt::plan::PhysicalMapping::kNoScratch)
      scratch[s].push_back(i);
  std::vector<Json> registers(mapping.physical_specs.size(), Json::array());
  for (std::size_t r = 0; r < mapping.register_to_physical.size(); ++r)
    if (mapping.outside_of(static_cast<zrt::plan::RegisterRef>(r)) == zrt::plan::kNoRegister)
      registers[mapping.register_to_physical[r]].push_back(r);
  for (std::size_t i = 0; i < mapping.physical_specs.size(); ++i)
    buffers.push_back({{"offset", mapping.physical_specs[i].offset},
                       {"bytes", mapping.physical_specs[i].size},
                       {"registers", std::move(registers[i])},
                       {"scratch_of", std::move(scratch[i])}});
  return {{"bytes", mapping.arena_bytes}, {"buffers", std::move(buffers)}};
}

Json states_json(const Model& model, const EngineMemory& memory) {
  Json out = Json::array();
  for (const zrt::StateDescriptor& d : model.plan().plan.states) {
    const bool paged = d.lifecycle == zrt::StateLifecycle::kv_paged;
    const std::uint64_t units = paged ? memory.pages[d.info.group] : memory.slots;
    out.push_back({{"id", d.id}, {"units", units}, {"unit_bytes", d.size_bytes}, {"bytes", units * d.size_bytes}});
  }
  return out;
}

/// Adds bytes to one row of a heap; rows and heaps are in the order in which they are first met.
void add_to(Json& heaps, std::string_view heap, std::string_view what, std::uint64_t bytes) {
  const auto at = [](Json& list, const char* key, std::string_view name) -> Json& {
    for (Json& row : list)
      if (row[key] == name) return row;
    list.push_back({{key, name}, {"bytes", std::uint64_t{0}}});
    return list.back();
  };
  Json& row = at(heaps, "heap", heap);
  row["bytes"] = row["bytes"].get<std::uint64_t>() + bytes;
  Json& part = at(row["parts"], "what", what);
  part["bytes"] = part["bytes"].get<std::uint64_t>() + bytes;
}

/// All memory by the heap that it comes from: the device's, the mapped file, and what the allocator hook gave.
Json heaps_json(const EngineMemory& memory, std::uint64_t mapped) {
  Json heaps = Json::array();
  if (mapped != 0) add_to(heaps, "mapped file", "weights", mapped);
  std::uint64_t known = 0;
  for (const MemoryPart& part : memory.parts) {
    add_to(heaps, part.heap, part.what, part.bytes);
    if (part.heap == kHostHeap) known += part.bytes;
  }
  add_to(heaps, kHostHeap, "plan, programs, tokenizer, slots", memory.allocated_bytes - known);
  return heaps;
}

}  // namespace

Json memory_json(Model& model) {
  const EngineMemory memory = model.memory_parts();
  const bool is_split = model.split() != nullptr;
  const std::uint64_t mapped = memory.uploaded && !is_split ? 0 : weight_bytes(model, false);
  const std::uint64_t constants = model.plan().plan.constants.size();
  const std::uint64_t named =
      memory.uploaded ? 0 : memory.state_bytes + memory.prefill->arena_bytes + memory.decode->arena_bytes;
  Json out{{"backend", model.backend()}, {"context", model.context()}, {"slots", memory.slots}};
  if (memory.uploaded) out["weights_uploaded_bytes"] = weight_bytes(model, true);
  if (!memory.uploaded || is_split) out["weights_mapped_bytes"] = mapped;
  out.update({{"constants_bytes", constants},
              {"state_bytes", memory.state_bytes},
              {"states", states_json(model, memory)},
              {"prefill_tokens", memory.prefill_tokens},
              {"prefill_arena", arena_json(*memory.prefill)},
              {"decode_arena", arena_json(*memory.decode)},
              {"allocated_bytes", memory.allocated_bytes},
              {"other_allocated_bytes", memory.allocated_bytes - named},
              {"heaps", heaps_json(memory, mapped)}});
  return out;
}

}  // namespace program
