// SPDX-License-Identifier: Apache-2.0
// tests/unit/scheduler.cpp: what a host sees of the scheduler of tenants, and its small parts.
#include <zrt/serve/step_pace.hpp>

#include <gtest/gtest.h>

#include <array>
#include <support/scheduler_bench.hpp>
#include <utility>
#include <vector>

namespace scheduler_unit_test {

using namespace zrt::serve;
using zrt::test::find;
using zrt::test::four_slots;
using zrt::test::two_slots;
using Bench = zrt::test::SchedulerBench;

/// What a step reads of the prompts of a tenant.
std::uint32_t read_of(const Bench& bench, const StepPlan& plan, Handle tenant) {
  std::uint32_t count = 0;
  for (const PlannedRun& run : plan.runs)
    if (!run.decode && bench.scheduler.state().slots[run.slot].tenant == tenant) count += run.count;
  return count;
}
std::uint32_t tokens_of(const StepPlan& plan) {
  std::uint32_t count = 0;
  for (const PlannedRun& run : plan.runs) count += run.count;
  return count;
}

TEST(TenantScheduler, RunsARequestToItsEnd) {
  Bench bench(two_slots());
  const Handle tenant = bench.tenant(ServiceClass::standard);
  const StepPlan first = bench.step({bench.request(tenant, 20, 2)});
  ASSERT_EQ(first.runs.size(), 1u);
  EXPECT_EQ(first.runs[0].count, 20u);
  EXPECT_TRUE(first.runs[0].sample);
  EXPECT_EQ(bench.scheduler.pages(first.runs[0].slot).size(), 2u);
  const StepPlan second = bench.step();
  ASSERT_NE(find(second, EventKind::token), nullptr);
  EXPECT_EQ(find(second, EventKind::token)->value, 7u);
  ASSERT_EQ(second.runs.size(), 1u);
  EXPECT_TRUE(second.runs[0].decode);
  const StepPlan last = bench.step();
  ASSERT_NE(find(last, EventKind::ended), nullptr);
  EXPECT_EQ(find(last, EventKind::ended)->end, EndReason::length);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->delivered_tokens, 2u);
  EXPECT_GT(bench.scheduler.ledger(tenant)->first_token.percentile(50), 0u);
}

TEST(TenantScheduler, ASlotShowsTheGuessesOfItsRun) {
  SchedulerLimits limits = two_slots();
  limits.draft_tokens = 4;
  Bench bench(limits);
  bench.step({bench.request(bench.tenant(ServiceClass::standard), 20, 9)});
  const std::vector<std::uint32_t> guessed{7, 7, 7};
  bench.drafts.assign(limits.slots, Draft{guessed.data(), 3});
  const StepPlan guesses = bench.step();
  ASSERT_EQ(guesses.runs.size(), 1u);
  const SlotRow& row = bench.scheduler.state().slots[guesses.runs[0].slot];
  EXPECT_EQ(row.speculative_tokens, 3u);
  bench.drafts.clear();
  ASSERT_EQ(bench.step().runs.size(), 1u);
  EXPECT_EQ(row.speculative_tokens, 0u);
}

TEST(TenantScheduler, ASecondTurnFindsTheFirst) {
  Bench bench(two_slots());
  const Handle alice = bench.tenant(ServiceClass::standard);
  const Handle bob = bench.tenant(ServiceClass::standard);
  bench.step({bench.request(alice, 40, 1)});
  bench.step();
  const StepPlan again = bench.step({bench.request(alice, 40, 1)});
  EXPECT_EQ(find(again, EventKind::admitted)->value, 32u);
  bench.step();
  const StepPlan other = bench.step({bench.request(bob, 40, 1)});
  EXPECT_EQ(find(other, EventKind::admitted)->value, 0u) << "another tenant finds nothing";
}

TEST(TenantScheduler, AGroupsPrefixesStayForThoseWhoAreLeft) {
  Bench bench(two_slots());
  Handle members[3];
  for (Handle& member : members) {
    Arrival a;
    a.kind = ArrivalKind::create_tenant;
    a.quota.group = 7;
    member = bench.step({a}).events[0].subject;
  }
  const auto found = [&bench](Handle member) {
    const StepPlan plan = bench.step({bench.request(member, 40, 1)});
    const std::uint32_t tokens = find(plan, EventKind::admitted)->value;
    bench.step();
    return tokens;
  };
  const auto leave = [&bench](Handle member) {
    Arrival a;
    a.kind = ArrivalKind::remove_tenant;
    a.subject = member;
    bench.step({a});
  };
  EXPECT_EQ(found(members[0]), 0u);
  EXPECT_EQ(found(members[1]), 32u);
  leave(members[0]);
  EXPECT_EQ(found(members[2]), 32u) << "two members are left";
  leave(members[1]);
  leave(members[2]);
  EXPECT_EQ(bench.scheduler.state().tree.size(), 0u) << "nobody is";
}

/// A rate that does not suffice for all slots of a tenant goes round among them.
TEST(TenantScheduler, ARateIsSharedByTheSlotsOfItsTenant) {
  Bench bench(two_slots());
  Arrival a;
  a.kind = ArrivalKind::create_tenant;
  a.quota.decode_tokens_per_s = 1;
  const Handle tenant = bench.step({a}).events[0].subject;
  std::array<std::uint32_t, 2> runs{};
  for (int i = 0; i < 100; ++i) {
    std::vector<Arrival> more;
    if (i % 20 == 0 && i < 40) more.push_back(bench.request(tenant, 1, 60));
    for (const PlannedRun& run : bench.step(more).runs) ++runs[run.slot];
    bench.now += 1'000'000'000;
  }
  EXPECT_GT(runs[0], 30u);
  EXPECT_GT(runs[1], 30u) << "of 80 s, beside " << runs[0];
}

/// A tenant's windows begin when it comes, not at the beginning of time.
TEST(TenantScheduler, ARateHoldsFromTheStepInWhichItsTenantComes) {
  SchedulerLimits limits = four_slots();
  limits.step_tokens = 512;
  limits.pages = 256;
  limits.context = 2048;
  Bench bench(limits);
  bench.now = 10'000'000'000;
  bench.step();
  Arrival comes;
  comes.kind = ArrivalKind::create_tenant;
  comes.quota.prefill_tokens_per_s = 10;
  std::uint32_t read = tokens_of(bench.step({comes, bench.request(handle_of(0, 1), 1000, 4)}));
  for (int i = 0; i < 100; ++i) read += tokens_of(bench.step());
  EXPECT_EQ(read, 50u);
}

/// Nobody hears of a request that finds no place at once, nor does the ledger.
TEST(TenantScheduler, WhatFindsNoPlaceIsNotBilled) {
  Bench bench(two_slots());
  const Handle tenant = bench.tenant(ServiceClass::interactive);
  bench.step({bench.request(tenant, 20, 50), bench.request(tenant, 20, 50)});
  const TenantLedger before = *bench.scheduler.ledger(tenant);
  const std::size_t events = bench.scheduler.events().size();
  Arrival restored = bench.request(tenant, 60, 20);
  restored.shares = false;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(bench.scheduler.adopt(restored, 2, 40), 0u);
  EXPECT_EQ(bench.scheduler.events().size(), events);
  EXPECT_TRUE(bench.audit.run(bench.scheduler.state()));
  const TenantLedger& after = *bench.scheduler.ledger(tenant);
  EXPECT_EQ(after.prompt_tokens, before.prompt_tokens);
  EXPECT_EQ(after.requests_accepted, before.requests_accepted);
  EXPECT_EQ(after.requests_ended_early, before.requests_ended_early);
  for (int i = 0; i < 60; ++i) bench.step();
  EXPECT_NE(bench.scheduler.adopt(restored, 2, 40), 0u);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->prompt_tokens, before.prompt_tokens + 60);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_accepted, before.requests_accepted + 1);
}

TEST(TenantScheduler, APrefixIsTheAdaptersOwn) {
  Bench bench(two_slots());
  const Handle tenant = bench.tenant(ServiceClass::standard);
  for (const std::uint32_t found : {0u, 32u})
    for (std::uint32_t adapter = 0; adapter < 3; ++adapter) {
      Arrival a = bench.request(tenant, 40, 1);
      a.adapter = adapter;
      const StepPlan plan = bench.step({a});
      EXPECT_EQ(find(plan, EventKind::admitted)->value, found) << "the same tokens under adapter " << adapter;
      bench.step();
    }
}

TEST(TenantScheduler, ASlotShowsWhoseItIs) {
  SchedulerLimits limits = two_slots();
  limits.model = 5;
  Bench bench(limits);
  const Handle tenant = bench.tenant(ServiceClass::batch);
  Arrival a = bench.request(tenant, 40, 1);
  a.adapter = 3;
  const StepPlan plan = bench.step({a});
  const SlotRow& row = bench.scheduler.state().slots[plan.runs[0].slot];
  EXPECT_EQ(row.tenant, tenant);
  EXPECT_EQ(row.request, plan.runs[0].request);
  EXPECT_EQ(row.model, 5u);
  EXPECT_EQ(row.adapter, 3u);
  EXPECT_EQ(row.prompt_tokens, 40u);
  EXPECT_EQ(row.pages, 3u);
  EXPECT_EQ(row.priority, static_cast<std::uint32_t>(ServiceClass::batch));
}

/// A hash of one bit, so that half of all keys meet in one list.
TEST(PrefixTreeKey, EachOfItsFieldsTellsPagesApart) {
  for (const std::uint32_t bits : {1u, 64u}) {
    auto tree = PrefixTree<AllRules>::make(4, {}, bits, {}, zrt::system_allocator());
    ASSERT_TRUE(tree);
    const PrefixDomain domain{9, 1, 2, 3, 4};
    std::array<std::uint32_t, zrt::kPageTokens> tokens{};
    tree->insert(0, domain, kNone, tokens.data());
    EXPECT_EQ(tree->find(domain, kNone, tokens.data()), 0u);
    EXPECT_EQ(tree->find(domain, 0, tokens.data()), kNone) << "the page before";
    PrefixDomain scope = domain;
    scope.scope = kGroupScope | 9;
    EXPECT_EQ(tree->find(scope, kNone, tokens.data()), kNone) << "a group is no tenant of the same number";
    for (const auto field :
         {&PrefixDomain::model, &PrefixDomain::kv_type, &PrefixDomain::cache_group, &PrefixDomain::adapter}) {
      PrefixDomain other = domain;
      ++(other.*field);
      EXPECT_EQ(tree->find(other, kNone, tokens.data()), kNone);
    }
    PrefixDomain swapped = domain;
    std::swap(swapped.model, swapped.kv_type);
    EXPECT_EQ(tree->find(swapped, kNone, tokens.data()), kNone);
    for (std::uint32_t& token : tokens) {
      ++token;
      EXPECT_EQ(tree->find(domain, kNone, tokens.data()), kNone);
      --token;
    }
  }
}

/// Whoever does not know the key cannot make pages collide.
TEST(PrefixTreeKey, HashesDependOnIt) {
  const auto hash = [](zrt::SipKey key) {
    const auto tree = PrefixTree<AllRules>::make(4, key, 64, {}, zrt::system_allocator());
    const PrefixTree<AllRules>::Tokens tokens{1, 2, 3};
    return tree->hash_of({.scope = 5}, kNone, tokens.data());
  };
  EXPECT_EQ(hash({1, 2}), hash({1, 2}));
  EXPECT_NE(hash({1, 2}), hash({1, 3}));
  EXPECT_NE(hash({1, 2}), hash({2, 2}));
}

/// Quotas are exact: what just fits is taken.
TEST(TenantScheduler, TheLargestRequestsAreTaken) {
  Bench bench(two_slots());
  Arrival comes;
  comes.kind = ArrivalKind::create_tenant;
  comes.quota.max_slots = 1;
  comes.quota.max_pages = 3;
  comes.quota.max_context = 49;
  comes.quota.max_queued = 2;
  const Handle tenant = find(bench.step({comes}), EventKind::tenant_created)->subject;
  const auto refusal = [&](std::uint32_t prompt, std::uint32_t most) {
    const StepPlan plan = bench.step({bench.request(tenant, prompt, most)});
    const StepEvent* refused = find(plan, EventKind::refused);
    return refused == nullptr ? Refusal::none : refused->refusal;
  };
  EXPECT_EQ(refusal(47, 3), Refusal::context_too_long);
  EXPECT_EQ(refusal(47, 2), Refusal::none) << "48 positions are three pages, and the last token needs none";
  EXPECT_EQ(refusal(20, 20), Refusal::none);
  EXPECT_EQ(refusal(20, 20), Refusal::none);
  EXPECT_EQ(refusal(20, 20), Refusal::none) << "the first has ended";
  EXPECT_EQ(refusal(20, 20), Refusal::tenant_queue_full);
}

/// A run's fault, a change and a note about one that has gone are nobody else's.
TEST(TenantScheduler, EndsSpareOthers) {
  Bench bench(two_slots());
  Arrival comes;
  comes.kind = ArrivalKind::create_tenant;
  const Handle tenant = find(bench.step({comes}), EventKind::tenant_created)->subject;
  Arrival cancel;
  cancel.kind = ArrivalKind::cancel;
  cancel.subject = find(bench.step({bench.request(tenant, 16, 4)}), EventKind::accepted)->subject;
  bench.step({cancel});
  bench.step({bench.request(tenant, 16, 40), bench.request(tenant, 16, 40), bench.request(tenant, 16, 40)});
  const StepPlan stale = bench.step({cancel});
  EXPECT_EQ(find(stale, EventKind::refused)->refusal, Refusal::unknown_subject);
  EXPECT_EQ(find(stale, EventKind::ended), nullptr);
  Arrival change = comes;
  change.kind = ArrivalKind::change_tenant;
  change.subject = tenant;
  change.quota.max_context = 56;
  EXPECT_EQ(find(bench.step({change}), EventKind::ended), nullptr) << "all still fit";
  StepInput fails;
  Outcome failed;
  failed.failed = true;
  const std::array<Outcome, 2> outcomes{failed, {7}};
  fails.outcomes = {outcomes.data(), outcomes.size()};
  fails.now = bench.now;
  const StepPlan plan = bench.scheduler.step(fails);
  std::size_t ended = 0;
  for (const StepEvent& e : plan.events) ended += e.kind == EventKind::ended ? 1u : 0u;
  EXPECT_EQ(ended, 1u);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_ended_early, 2u);
}

TEST(TenantScheduler, AFullQueueSaysWhenToComeBack) {
  Bench bench(two_slots());
  const Handle tenant = bench.tenant(ServiceClass::batch);
  std::vector<Arrival> burst;
  for (int i = 0; i < 6; ++i) burst.push_back(bench.request(tenant, 16, 8));
  const StepPlan plan = bench.step(burst);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_accepted, 5u) << "two begin at once, three wait";
  EXPECT_EQ(bench.scheduler.state().queued, 3u);
  const StepEvent* refused = find(plan, EventKind::refused);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->refusal, Refusal::queue_full);
  EXPECT_GT(refused->retry_after, 0u);
  EXPECT_EQ(name(refused->refusal), "queue_full");
}

/// A slot ends a request in each second: the first place is free after one, the tenant has none left to wait for after four.
TEST(TenantScheduler, WhenToComeBackIsHowSoonRequestsEnd) {
  for (const std::uint32_t own : {256u, 2u}) {
    Bench bench(two_slots());
    Arrival a;
    a.kind = ArrivalKind::create_tenant;
    a.quota.max_slots = 1;
    a.quota.max_queued = own;
    const Handle tenant = bench.step({a}).events[0].subject;
    std::vector<Arrival> more(1, bench.request(tenant, 16, 4));
    for (int i = 0; i < 200; ++i) {
      bench.step(more);
      more.clear();
      if (i % 4 == 0) more.push_back(bench.request(tenant, 16, 4));
      bench.now += 250'000'000;
    }
    for (int i = 0; i < 8; ++i) more.push_back(bench.request(tenant, 16, 4));
    const StepEvent* refused = find(bench.step(more), EventKind::refused);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->refusal, own == 2 ? Refusal::tenant_queue_full : Refusal::queue_full);
    EXPECT_NEAR(static_cast<double>(refused->retry_after), own == 2 ? 4e9 : 1e9, 0.2e9);
  }
}

TEST(TenantScheduler, WhenToComeBackIsThePaceOfABusyMachine) {
  Bench bench(two_slots());
  const Handle tenant = bench.tenant(ServiceClass::batch);
  for (int i = 0; i < 4; ++i) {
    bench.now += 3'600'000'000'000u;
    bench.step({bench.request(tenant, 16, 2)});
    bench.step();
    bench.step();
  }
  ASSERT_EQ(bench.scheduler.ledger(tenant)->requests_finished, 4u);
  std::vector<Arrival> burst;
  for (int i = 0; i < 6; ++i) burst.push_back(bench.request(tenant, 16, 8));
  const StepPlan plan = bench.step(burst);
  ASSERT_NE(find(plan, EventKind::refused), nullptr);
  EXPECT_LE(find(plan, EventKind::refused)->retry_after, 100'000'000u) << "hours without requests are no pace";
}

TEST(TenantScheduler, LatenciesBeginWithTheClock) {
  Bench bench(two_slots());
  const auto stop_clock = [&] { bench.now = std::uint64_t{0} - 1'000'000; };
  stop_clock();
  const Handle tenant = bench.tenant(ServiceClass::interactive);
  stop_clock();
  bench.step({bench.request(tenant, 16, 4), bench.request(tenant, 100, 2)});
  stop_clock();
  bench.step();
  bench.now = 3'600'000'000'000u;
  for (int i = 0; i < 6; ++i) bench.step();
  const TenantLedger& ledger = *bench.scheduler.ledger(tenant);
  ASSERT_EQ(ledger.requests_finished, 2u);
  EXPECT_LE(ledger.first_token.percentile(100), 10'000'000u);
  EXPECT_LE(ledger.token_gap.percentile(100), 10'000'000u);
}

TEST(TenantScheduler, ATenantsQueueIsFullWhenItsSlotsAreToo) {
  Bench bench(four_slots());
  Arrival a;
  a.kind = ArrivalKind::create_tenant;
  a.quota.max_slots = 2;
  a.quota.max_queued = 1;
  const Handle tenant = bench.step({a}).events[0].subject;
  std::vector<Arrival> burst;
  for (int i = 0; i < 4; ++i) burst.push_back(bench.request(tenant, 16, 8));
  const StepEvent* refused = find(bench.step(burst), EventKind::refused);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->refusal, Refusal::tenant_queue_full);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_accepted, 3u) << "two of four slots are the tenant's, one waits";
  bench.step({bench.request(tenant, 16, 8)});
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_refused, 2u) << "its slots are taken now";
}

TEST(TenantScheduler, AQueueMayBeWithoutABound) {
  Bench bench(four_slots());
  Arrival a;
  a.kind = ArrivalKind::create_tenant;
  a.quota.max_queued = ~0u;
  const Handle tenant = bench.step({a}).events[0].subject;
  EXPECT_EQ(find(bench.step({bench.request(tenant, 16, 8)}), EventKind::refused), nullptr);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_accepted, 1u);
}

TEST(TenantScheduler, ReservationsThatDoNotFitAreRefused) {
  Bench bench(two_slots());
  EXPECT_NE(bench.tenant(ServiceClass::standard, 8), 0u);
  EXPECT_EQ(bench.tenant(ServiceClass::standard, 5), 0u) << "8 of 12 pages are taken";
  EXPECT_NE(bench.tenant(ServiceClass::standard, 4), 0u);
}

TEST(TenantScheduler, InteractiveTakesABatchSlotButNotTheFloor) {
  Bench bench(two_slots());
  const Handle batch = bench.tenant(ServiceClass::batch);
  const Handle user = bench.tenant(ServiceClass::interactive);
  bench.step({bench.request(batch, 16, 30), bench.request(batch, 16, 30)});
  bench.step();
  const StepPlan taken = bench.step({bench.request(user, 8, 30), bench.request(user, 8, 30)});
  EXPECT_NE(find(taken, EventKind::preempted), nullptr);
  std::uint32_t of_batch = 0;
  for (const PlannedRun& run : taken.runs)
    of_batch += bench.scheduler.state().slots[run.slot].tenant == batch ? 1u : 0u;
  EXPECT_EQ(taken.runs.size(), 2u);
  EXPECT_EQ(of_batch, 1u) << "the floor goes on, and one user waits";
}

TEST(TenantScheduler, PromptsOfOthersKeepTheGapsOfAnInteractiveAnswerEven) {
  Bench bench(four_slots());
  const Handle user = bench.tenant(ServiceClass::interactive);
  const Handle jobs[] = {bench.tenant(ServiceClass::standard), bench.tenant(ServiceClass::batch)};
  bench.prompt_tokens = 0;
  bench.step({bench.request(user, 8, 30)});
  bench.step({bench.request(jobs[0], 40, 8), bench.request(jobs[1], 40, 8), bench.request(jobs[1], 40, 8)});
  std::uint32_t steps = 0;
  for (;; ++steps) {
    const std::uint32_t floor = bench.scheduler.state().floor_slot;
    const bool reads = floor != kNone && bench.scheduler.state().slots[floor].stage == SlotStage::prefill;
    const StepPlan plan = bench.step();
    if (bench.scheduler.ledger(user)->requests_finished != 0) {
      EXPECT_EQ(read_of(bench, plan, jobs[0]) + read_of(bench, plan, jobs[1]), 16u) << "nobody waits for them any more";
      break;
    }
    EXPECT_LE(tokens_of(plan), 5u) << "a quarter more than there are slots";
    EXPECT_GE(tokens_of(plan), 4u) << "prompts go on";
    bool floor_runs = !reads;
    for (const PlannedRun& run : plan.runs) floor_runs = floor_runs || run.slot == floor;
    EXPECT_TRUE(floor_runs);
  }
  EXPECT_GT(steps, 20u);
}

TEST(TenantScheduler, PromptsOfOthersHaveTheTimeThatAnAnswerLeaves) {
  for (const std::uint32_t timely : {20u, 48u}) {
    Bench bench(four_slots());
    const Handle user = bench.tenant(ServiceClass::interactive);
    const Handle job = bench.tenant(ServiceClass::batch);
    bench.step({bench.request(user, 8, 30)});
    bench.prompt_tokens = timely;
    EXPECT_EQ(read_of(bench, bench.step({bench.request(job, 90, 8)}), job), timely);
  }
}

TEST(TenantScheduler, PromptsThatAreToldShareTheRowsOfAStep) {
  for (const std::uint32_t rows : {0u, 5u, 16u}) {
    SchedulerLimits limits = four_slots();
    limits.scored_rows = rows;
    Bench bench(limits);
    const Handle tenant = bench.tenant(ServiceClass::standard);
    std::vector<Arrival> all{bench.request(tenant, 40, 2), bench.request(tenant, 41, 2), bench.request(tenant, 33, 2)};
    all[0].scored = 39;
    all[1].scored = 40;
    StepPlan plan = bench.step(all);
    std::uint32_t steps = 0;
    for (; bench.scheduler.ledger(tenant)->requests_finished != 3; ++steps) {
      ASSERT_LT(steps, 90u) << rows << " rows: a prompt does not move on";
      std::uint32_t told = 0;
      for (const PlannedRun& run : plan.runs) {
        const RequestRow& r = bench.scheduler.state().requests[row_of(run.request)];
        if (r.scored == 0 && !run.decode) EXPECT_EQ(run.count, 33u) << "another prompt is read as ever";
        if (r.scored != 0 && !run.decode) told += run.count;
      }
      EXPECT_LE(told, rows + 2);
      plan = bench.step();
    }
    EXPECT_GE(steps, 79 / (rows + 2));
  }
}

TEST(TenantScheduler, NoPrefixStandsInForAPromptThatIsTold) {
  Bench bench(two_slots());
  const Handle tenant = bench.tenant(ServiceClass::standard);
  bench.step({bench.request(tenant, 40, 1)});
  bench.step();
  Arrival told = bench.request(tenant, 40, 1);
  told.scored = 39;
  const StepPlan first = bench.step({told});
  ASSERT_EQ(first.runs.size(), 1u);
  EXPECT_EQ(first.runs[0].begin, 0u);
  for (int i = 0; i < 40; ++i) bench.step();
  const StepPlan plain = bench.step({bench.request(tenant, 40, 1)});
  ASSERT_EQ(plain.runs.size(), 1u);
  EXPECT_EQ(plain.runs[0].begin, 32u);
}

TEST(TenantScheduler, AnInteractivePromptIsNotCutForAnInteractiveAnswer) {
  Bench bench(four_slots());
  const Handle user = bench.tenant(ServiceClass::interactive);
  const Handle job = bench.tenant(ServiceClass::batch);
  bench.prompt_tokens = 0;
  bench.step({bench.request(user, 8, 30)});
  const StepPlan plan = bench.step({bench.request(user, 60, 8), bench.request(job, 60, 8)});
  EXPECT_EQ(read_of(bench, plan, user), 16u);
  EXPECT_EQ(read_of(bench, plan, job), 1u) << "three slots are busy, one of them answers: 3 tokens, of which 1 is the "
                                              "floor's and 2 are left behind those of the user";
}

/// Creates two tenants of a token a second, who use up their rates, the second a second later; returns that one.
Handle use_up_two_rates(Bench& bench) {
  Handle tenants[2];
  for (Handle& tenant : tenants) {
    Arrival a;
    a.kind = ArrivalKind::create_tenant;
    a.quota.decode_tokens_per_s = 1;
    tenant = bench.step({a}).events[0].subject;
  }
  bench.step({bench.request(tenants[0], 16, 20)});
  bench.step();
  bench.now += 1'000'000'000;
  bench.step({bench.request(tenants[1], 16, 20)});
  for (int i = 0; i < 7; ++i) bench.step();
  return tenants[1];
}

TEST(TenantScheduler, IsIdleUntilTheFirstOfTheRatesHasRoom) {
  Bench bench(two_slots());
  EXPECT_EQ(bench.scheduler.idle(bench.now), kUntilSubmit);
  use_up_two_rates(bench);
  const std::uint64_t idle = bench.scheduler.idle(bench.now);
  EXPECT_GT(idle, 0u);
  EXPECT_LE(idle, 5'100'000'000u - 1'000'000'000u) << "the first one's, which began a second earlier";
  EXPECT_EQ(bench.scheduler.idle(bench.now + idle), 0u);
  EXPECT_EQ(bench.scheduler.idle(bench.now + 2 * idle), 0u);
  bench.now += idle - 2'000'000;
  EXPECT_TRUE(bench.step().runs.empty());
  EXPECT_EQ(bench.step().runs.size(), 1u);
}

TEST(TenantScheduler, IsNotIdleBehindARateThatHasRoomAgain) {
  Bench bench(two_slots());
  const Handle second = use_up_two_rates(bench);
  const std::uint64_t idle = bench.scheduler.idle(bench.now);
  ASSERT_GT(idle, 0u);
  bench.scheduler.charge(second, {}, bench.now + idle / 2);
  EXPECT_EQ(bench.scheduler.idle(bench.now + idle / 2), idle - idle / 2) << "time alone changes nothing";
  bench.scheduler.charge(second, {}, bench.now + idle);
  EXPECT_EQ(bench.scheduler.idle(bench.now + idle), 0u) << "the first may go on, though the second waits";
}

TEST(TenantScheduler, StepsAllocateNothing) {
  SchedulerLimits limits;
  limits.slots = 64;
  Bench bench(limits);
  const Handle tenant = bench.tenant(ServiceClass::standard);
  std::vector<Arrival> burst;
  for (int i = 0; i < 100; ++i) burst.push_back(bench.request(tenant, 40, 20));
  const std::size_t before = bench.counted.calls;
  bench.step(burst);
  for (int i = 0; i < 200; ++i) bench.step();
  EXPECT_EQ(bench.counted.calls, before);
  EXPECT_EQ(bench.scheduler.ledger(tenant)->requests_finished, 100u);
}

TEST(TenantScheduler, RefusesImpossibleSizes) {
  SchedulerLimits limits = two_slots();
  limits.prefix_pages = limits.pages;
  EXPECT_FALSE(Scheduler<>::make(limits, zrt::system_allocator()));
  limits = two_slots();
  limits.step_tokens = 17;
  EXPECT_FALSE(Scheduler<>::make(limits, zrt::system_allocator()));
  TenantQuota quota;
  quota.weight = 0;
  EXPECT_FALSE(zrt::serve::check(quota));
}

TEST(StepPace, KeepsAStepWithinATime) {
  StepPace pace;
  EXPECT_EQ(pace.within(0, 4, 512), 512u) << "no bound";
  EXPECT_EQ(pace.within(1'000'000, 4, 512), zrt::kPageTokens) << "nothing is known";
  EXPECT_EQ(pace.beside(0), ~0u) << "no bound";
  EXPECT_EQ(pace.beside(1'000'000), 2 * zrt::kPageTokens) << "nothing is known";
  pace.learn(4, 0, 4'000);
  pace.learn(4, 96, 99'904);  // 1000 ns for each of a prompt
  EXPECT_EQ(pace.within(104'000, 4, 512), 96u) << "whole pages";
  EXPECT_EQ(pace.within(104'000, 4, 64), 64u);
  EXPECT_EQ(pace.within(14'000, 4, 512), 10u) << "less than a page";
  EXPECT_EQ(pace.within(3'000, 4, 512), 0u) << "what decodes takes longer";
  EXPECT_EQ(pace.within(14'000, 0, 512), 14u) << "nothing decodes";
  EXPECT_EQ(pace.beside(40'000), 32u) << "whole pages, whatever the others take";
}

TEST(StepPace, FollowsStepsThatShowWhatAPromptsTokenTakes) {
  StepPace pace;
  pace.learn(0, 32, 3'199'968);
  EXPECT_EQ(pace.beside(1'000'000), 10u);
  pace.learn(0, 4, 4'000'000);
  EXPECT_EQ(pace.beside(1'000'000), 10u) << "the fixed cost of a small step";
  pace.learn(0, 10, 200'000);
  EXPECT_EQ(pace.beside(1'000'000), 12u) << "a small step that takes less says that a token does";
  pace.learn(16, 16, 0);
  EXPECT_EQ(pace.beside(1'000'000), 12u) << "no time was taken";
}

TEST(StepPace, DoesNotTakeLongerStepsForShorterOnes) {
  StepPace pace;
  pace.learn(16, 0, 16'000'000);
  pace.learn(1, 16, 17'000'000);  // 1 ms for each, of which 16 seem to be another's
  EXPECT_LE(pace.beside(100'000'000), 200u);
  EXPECT_GE(pace.beside(100'000'000), 100u);
}

/// The machine had something else to do, or the clock jumped.
TEST(StepPace, AStepThatTookVeryLongIsForgottenSoon) {
  StepPace pace;
  for (int i = 0; i < 20; ++i) pace.learn(0, 100, 1'000'000);
  const std::uint32_t usual = pace.beside(10'000'000);
  pace.learn(0, 100, 3'600'000'000'000);
  EXPECT_GE(pace.beside(10'000'000), usual * 3 / 4);
  for (int i = 0; i < 3; ++i) pace.learn(0, 100, 1'000'000);
  EXPECT_GE(pace.beside(10'000'000), usual * 7 / 8);
}

TEST(StepPace, GrowsFromTheLeastTime) {
  StepPace pace;
  pace.learn(0, 100, 1);
  for (int i = 0; i < 100; ++i) pace.learn(0, 100, 1'000'000'000);
  EXPECT_LE(pace.beside(1'000'000'000), 112u);
}

TEST(StepPace, TellsPromptsFromWhatDecodes) {
  StepPace pace;
  for (int i = 0; i < 50; ++i) pace.learn(8, 0, 20'000'000);
  for (int i = 0; i < 50; ++i) pace.learn(8, 32, 36'000'000);  // 0.5 ms each
  EXPECT_EQ(pace.beside(16'000'000), 16u) << "just below 32: a page";
  EXPECT_EQ(pace.within(52'000'000, 8, 512), 48u);
}

TEST(TokenWindow, HoldsFiveSeconds) {
  TokenWindow window;
  window.advance(1'000'000'000);
  window.take(50);
  EXPECT_EQ(window.room(10), 0u);
  window.advance(5'999'999'999);
  EXPECT_EQ(window.room(10), 0u);
  EXPECT_EQ(window.until_room(5'999'999'999), 100'000'001u);
  window.advance(6'100'000'000);
  EXPECT_EQ(window.room(10), 50u);
  window.take(1);
  window.advance(std::uint64_t{1} << 60);
  EXPECT_EQ(window.room(10), 50u);
}

/// What is given back was not taken, however long the step was.
TEST(TokenWindow, TakesBackWhatHasLeftTheWindow) {
  TokenWindow window;
  window.take(17);
  window.advance(6'000'000'000);
  window.take(2);
  window.give_back(16);
  EXPECT_EQ(window.taken(), 3u);
  EXPECT_EQ(window.room(10), 50u);
}

TEST(TokenWindow, HoldsMoreTokensThanTime) {
  TokenWindow window;
  for (int i = 0; i < 6; ++i) window.take(~0u);
  EXPECT_EQ(window.room(~0u), ~0u);
  EXPECT_EQ(window.room(1000), 0u);
  window.advance(10'000'000'000);
  EXPECT_EQ(window.room(1000), 5000u);
}

TEST(LatencyHistogram, PercentilesAreAtMostAQuarterTooLong) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.percentile(50), 0u);
  for (std::uint64_t i = 1; i <= 1000; ++i) histogram.add(i * 1000);
  for (const std::uint32_t percent : {1u, 50u, 99u}) {
    const std::uint64_t exact = percent * 10'000;
    EXPECT_GE(histogram.percentile(percent), exact);
    EXPECT_LE(histogram.percentile(percent), exact + exact / 4);
  }
  histogram.add(~std::uint64_t{0});
  EXPECT_EQ(histogram.percentile(100), ~std::uint64_t{0});
}

}  // namespace scheduler_unit_test
