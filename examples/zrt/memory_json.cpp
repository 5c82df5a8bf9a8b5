// SPDX-License-Identifier: Apache-2.0
// examples/zrt/memory_json.cpp: the memory of an open engine as JSON.
#include "plan_json.hpp"

#include <nlohmann/json.hpp>

#include <set>

namespace program {

using Json = nlohmann::ordered_json;

namespace {

/// Bytes of the tensors that the plan names, each once. They are used where the file is mapped.
std::uint64_t weight_bytes(const Model& model) {
  std::set<std::string_view> seen;
  std::uint64_t bytes = 0;
  for (const zrt::plan::PlanWeight& w : model.plan().plan.weights) {
    if (w.inline_data() || !seen.insert(w.name.view()).second) continue;
    if (const zrt::model::GgufTensor* tensor = model.file().find_tensor(w.name.view())) bytes += tensor->bytes;
  }
  return bytes;
}

Json arena_json(const zrt::plan::PhysicalMapping& mapping) {
  Json buffers = Json::array();
  std::vector<Json> registers(mapping.physical_specs.size(), Json::array());
  for (std::size_t r = 0; r < mapping.register_to_physical.size(); ++r)
    if (mapping.outside_of(static_cast<zrt::plan::RegisterRef>(r)) == zrt::plan::kNoRegister)
      registers[mapping.register_to_physical[r]].push_back(r);
  for (std::size_t i = 0; i < mapping.physical_specs.size(); ++i)
    buffers.push_back({{"offset", mapping.physical_specs[i].offset},
                       {"bytes", mapping.physical_specs[i].size},
                       {"registers", std::move(registers[i])}});
  return {{"bytes", mapping.arena_bytes}, {"buffers", std::move(buffers)}};
}

Json states_json(const Model& model, const EngineMemory& memory) {
  Json out = Json::array();
  for (const zrt::StateDescriptor& d : model.plan().plan.states) {
    const bool paged = d.lifecycle == zrt::StateLifecycle::kv_paged;
    const std::uint64_t units = paged ? memory.pages : memory.slots;
    out.push_back({{"id", d.id}, {"units", units}, {"unit_bytes", d.size_bytes}, {"bytes", units * d.size_bytes}});
  }
  return out;
}

}  // namespace

Json memory_json(Model& model) {
  const EngineMemory memory = model.memory();
  const std::uint64_t constants = model.plan().plan.constants.size();
  const std::uint64_t named =
      memory.uploaded ? 0 : memory.state_bytes + memory.prefill->arena_bytes + memory.decode->arena_bytes;
  return {{"backend", model.backend()},
          {"context", model.context()},
          {"slots", memory.slots},
          {memory.uploaded ? "weights_uploaded_bytes" : "weights_mapped_bytes", weight_bytes(model)},
          {"constants_bytes", constants},
          {"state_bytes", memory.state_bytes},
          {"states", states_json(model, memory)},
          {"prefill_arena", arena_json(*memory.prefill)},
          {"decode_arena", arena_json(*memory.decode)},
          {"allocated_bytes", memory.allocated_bytes},
          {"other_allocated_bytes", memory.allocated_bytes - named}};
}

}  // namespace program
