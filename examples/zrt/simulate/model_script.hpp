// SPDX-License-Identifier: Apache-2.0
// examples/zrt/simulate/model_script.hpp: what happens to a set of models, drawn from a seed before it happens.
#pragma once

#include "script.hpp"

namespace simulate {

/// A script whose requests go to several models, with less memory than all of them need in two of three.
struct ModelScript {
  Script events{};  ///< whose limits are those of model 0
  std::vector<serve::SchedulerLimits> limits{};
  std::vector<std::uint64_t> bytes{};
  std::vector<std::uint32_t> fails{};  ///< of a hundred attempts to come back
  std::uint64_t memory = 0;            ///< for all; 0: no bound
  std::uint32_t turn_patience = 8;
  std::uint32_t memory_patience = 64;
};

/// The tenants, bursts, cancels, changes and jumps of the clock of ScriptWriter::bursts(), dealt out to one to three models.
[[nodiscard]] inline ModelScript model_script_of(std::uint64_t seed) {
  ModelScript m;
  m.events = ScriptWriter(seed).bursts();
  Draw draw(mixed(seed, 0x30de15));
  const std::uint32_t models = draw.from(1, 3);
  const bool breaks = draw.chance(0.3);
  std::uint64_t all = 0, largest = 0;
  for (std::uint32_t i = 0; i < models; ++i) {
    serve::SchedulerLimits limits = m.events.limits;
    limits.slots = draw.from(1, limits.slots);
    limits.pages = std::max(limits.pages, 16u);
    limits.queue = limits.arrivals = 256;
    limits.draft_tokens = 0;
    limits.step_tokens = limits.slots + draw.one_of({16, 32, 64});
    m.limits.push_back(limits);
    m.bytes.push_back(draw.from(1, 10));
    m.fails.push_back(breaks && draw.chance(0.5) ? draw.one_of({20, 60, 100}) : 0);
    all += m.bytes.back();
    largest = std::max(largest, m.bytes.back());
  }
  if (draw.chance(0.75)) m.memory = largest + draw.below(static_cast<std::uint32_t>(all - largest) + 1);
  m.turn_patience = draw.one_of({1, 3, 8});
  m.memory_patience = draw.one_of({2, 8, 24});
  const bool by_tenant = draw.chance(0.3);
  std::vector<ScriptEvent> kept;
  for (ScriptEvent e : m.events.events) {
    if (e.act == Action::open || e.act == Action::close || e.act == Action::block || e.act == Action::ready ||
        e.act == Action::drop)
      continue;
    if (e.act == Action::submit && (e.prompt == 0 || e.most == 0)) continue;
    e.model = static_cast<std::uint32_t>(mixed(seed, by_tenant ? e.tenant : e.request) % models);
    e.continues = e.session = e.fails_at = 0;
    // What a tenant may have is the same in each model, so it must fit the smallest.
    for (const serve::SchedulerLimits& limits : m.limits) {
      e.quota.max_slots = std::min(e.quota.max_slots, limits.slots);
      e.quota.max_pages = std::min(e.quota.max_pages, limits.pages);
    }
    e.quota.reserved_pages = 0;
    kept.push_back(e);
  }
  m.events.events = std::move(kept);
  return m;
}

}  // namespace simulate
