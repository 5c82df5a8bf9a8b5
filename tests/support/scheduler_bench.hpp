// SPDX-License-Identifier: Apache-2.0
// tests/support/scheduler_bench.hpp: a scheduler of tenants whose machine answers every run with the same token.
#pragma once

#include <zrt/serve/audit.hpp>
#include <zrt/serve/scheduler.hpp>

#include <gtest/gtest.h>

#include <support/counted_allocator.hpp>
#include <vector>

namespace zrt::test {

/// The first event of a kind, or null.
inline const serve::StepEvent* find(const serve::StepPlan& plan, serve::EventKind kind) {
  for (const serve::StepEvent& e : plan.events)
    if (e.kind == kind) return &e;
  return nullptr;
}

/// Steps a scheduler, a millisecond each, and audits it behind each step. Every run that samples draws token 7. Its tenants
/// have no latency budgets unless a test gives them some.
struct SchedulerBench {
  explicit SchedulerBench(const serve::SchedulerLimits& limits)
      : scheduler(*serve::Scheduler<>::make(limits, counted.allocator())),
        audit(*serve::Audit::make(limits, counted.allocator())) {}

  serve::StepPlan step(const std::vector<serve::Arrival>& arrivals = {}) {
    const std::vector<serve::Outcome> outcomes(scheduler.state().runs.size(), serve::Outcome{7, false, false});
    now += 1'000'000;
    serve::StepInput in;
    in.arrivals = {arrivals.data(), arrivals.size()};
    in.outcomes = {outcomes.data(), outcomes.size()};
    in.now = now;
    if (token_ns != 0)
      for (const serve::PlannedRun& run : scheduler.state().runs) in.took += token_ns * run.count;
    in.prompt_tokens = prompt_tokens;
    in.drafts = {drafts.data(), drafts.size()};
    const serve::StepPlan plan = scheduler.step(in);
    const auto checked = audit.run(scheduler.state());
    EXPECT_TRUE(checked) << checked.error().text();
    return plan;
  }
  /// A tenant of a class; 0 where it is refused.
  serve::Handle tenant(serve::ServiceClass service, std::uint32_t reserved = 0) {
    serve::Arrival a;
    a.kind = serve::ArrivalKind::create_tenant;
    a.quota.service = service;
    a.quota.max_slots = 64;
    a.quota.decode_tokens_per_s = 1'000'000;
    a.quota.reserved_pages = reserved;
    a.quota.first_token_ns = first_token_ns;
    a.quota.gap_ns = gap_ns;
    const serve::StepEvent* made = find(step({a}), serve::EventKind::tenant_created);
    return made == nullptr ? 0 : made->subject;
  }
  /// A submission of `prompt` equal tokens, for an answer of `most`.
  serve::Arrival request(serve::Handle tenant, std::uint32_t prompt, std::uint32_t most) {
    serve::Arrival a;
    a.subject = tenant;
    a.prompt = prompt;
    a.most = most;
    tokens.emplace_back(prompt + most, 3u);
    a.tokens = tokens.back().data();
    return a;
  }

  CountedAllocator counted;
  serve::Scheduler<> scheduler;
  serve::Audit audit;
  std::uint64_t now = 0;
  std::uint32_t prompt_tokens = ~0u;
  std::uint64_t token_ns = 0;        ///< that the machine takes for a token; 0: the host does not measure it
  std::uint64_t first_token_ns = 0;  ///< budgets of tenants to come
  std::uint64_t gap_ns = 0;
  std::vector<std::vector<std::uint32_t>> tokens{};
  std::vector<serve::Draft> drafts{};
};

inline serve::SchedulerLimits two_slots() {
  serve::SchedulerLimits l;
  l.slots = 2;
  l.queue = 3;
  l.pages = 16;
  l.prefix_pages = 4;
  l.context = 128;
  l.step_tokens = 64;
  return l;
}

inline serve::SchedulerLimits four_slots() {
  serve::SchedulerLimits l = two_slots();
  l.slots = 4;
  l.queue = 8;
  l.pages = 64;
  return l;
}

}  // namespace zrt::test
