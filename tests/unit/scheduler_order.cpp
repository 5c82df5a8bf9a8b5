// SPDX-License-Identifier: Apache-2.0
// tests/unit/scheduler_order.cpp: who is next, who yields, and who is not overtaken.
#include <gtest/gtest.h>

#include <optional>
#include <support/scheduler_bench.hpp>
#include <vector>

namespace scheduler_order_test {

using namespace zrt::serve;
using zrt::test::find;
using zrt::test::four_slots;
using zrt::test::two_slots;

/// A scheduler whose requests have numbers, and whose floor a standard tenant may hold.
class SchedulerOrder : public testing::Test {
 protected:
  void begin(SchedulerLimits limits, std::uint32_t slots) {
    limits.slots = slots;
    limits.queue = 16;
    bench_.emplace(limits);
  }
  Handle tenant(ServiceClass service, std::uint32_t reserved = 0) { return bench_->tenant(service, reserved); }
  /// A request whose number its events have as their tag.
  Arrival ask(std::uint64_t number, Handle tenant, std::uint32_t prompt, std::uint32_t most) {
    Arrival a = bench_->request(tenant, prompt, most);
    a.tag = number;
    return a;
  }
  /// A standard tenant's request that holds the floor for as long as the context lets it.
  void hold_floor() {
    bench_->step({ask(99, tenant(ServiceClass::standard), 16, 110)});
    ASSERT_NE(bench_->scheduler.state().floor_slot, kNone);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) bench_->step();
  }
  /// The number of the request that a step preempts; 0: none is.
  static std::uint64_t preempted(const StepPlan& plan) {
    const StepEvent* e = find(plan, EventKind::preempted);
    return e == nullptr ? 0 : e->tag;
  }
  static std::vector<std::uint64_t> admitted(const StepPlan& plan) {
    std::vector<std::uint64_t> numbers;
    for (const StepEvent& e : plan.events)
      if (e.kind == EventKind::admitted) numbers.push_back(e.tag);
    return numbers;
  }
  /// The number of the first request that a later step admits, in at most `most` steps; 0: none is.
  std::uint64_t next_admitted(int most) {
    for (int i = 0; i < most; ++i)
      if (const std::vector<std::uint64_t> numbers = admitted(bench_->step()); !numbers.empty()) return numbers[0];
    return 0;
  }
  /// The slot of the request with a number, or kNone.
  [[nodiscard]] std::uint32_t slot_of(std::uint64_t number) const {
    const auto& s = bench_->scheduler.state();
    for (std::uint32_t slot = 0; slot < s.work.size(); ++slot)
      if (s.work[slot].request != kNone && s.requests[s.work[slot].request].tag == number) return slot;
    return kNone;
  }

  [[nodiscard]] Handle running(std::uint64_t number) const {
    return bench_->scheduler.state().slots[slot_of(number)].request;
  }
  /// A client stops reading, or reads again.
  static Arrival client(Handle request, ArrivalKind kind) {
    Arrival a;
    a.kind = kind;
    a.subject = request;
    return a;
  }

  std::optional<zrt::test::SchedulerBench> bench_;
};

TEST_F(SchedulerOrder, TheLowestClassYieldsFirst) {
  begin(four_slots(), 3);
  hold_floor();
  const Handle standard = tenant(ServiceClass::standard), batch = tenant(ServiceClass::batch);
  const Handle user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, standard, 60, 40), ask(2, batch, 20, 60)});
  steps(20);
  EXPECT_EQ(preempted(bench_->step({ask(3, user, 8, 4)})), 2u) << "though the standard tenant has had more";
}

TEST_F(SchedulerOrder, OfAClassTheTenantWithTheMostServiceYields) {
  begin(four_slots(), 3);
  hold_floor();
  const Handle more = tenant(ServiceClass::batch), less = tenant(ServiceClass::batch);
  const Handle user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, more, 60, 40), ask(2, less, 20, 60)});
  steps(20);
  EXPECT_EQ(preempted(bench_->step({ask(3, user, 8, 4)})), 1u) << "though it has computed more";
}

TEST_F(SchedulerOrder, OfATenantTheRequestThatHasComputedLeastYields) {
  begin(four_slots(), 3);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch), user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, batch, 20, 60), ask(2, batch, 60, 40)});
  steps(20);
  EXPECT_EQ(preempted(bench_->step({ask(3, user, 8, 4)})), 1u) << "though it is the older one";
}

TEST_F(SchedulerOrder, WhatHasJustBegunIsSparedWhereAnotherIsNot) {
  begin(four_slots(), 3);
  hold_floor();
  const Handle more = tenant(ServiceClass::batch), less = tenant(ServiceClass::batch);
  const Handle user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, more, 60, 20), ask(2, less, 16, 90)});
  while (slot_of(1) != kNone) bench_->step();
  bench_->step({ask(3, more, 4, 30)});
  steps(3);
  const auto& tenants = bench_->scheduler.state().tenants;
  ASSERT_GT(tenants[row_of(more)].service, tenants[row_of(less)].service);
  EXPECT_EQ(preempted(bench_->step({ask(4, user, 8, 4)})), 2u) << "the other one has computed no 16 tokens yet";
  begin(four_slots(), 2);
  hold_floor();
  const Handle alone = tenant(ServiceClass::batch), other = tenant(ServiceClass::interactive);
  bench_->step({ask(1, alone, 4, 30)});
  EXPECT_EQ(preempted(bench_->step({ask(2, other, 8, 4)})), 1u) << "there is no other";
}

TEST_F(SchedulerOrder, WhatWasPreemptedTwiceHasItsPagesSetAside) {
  begin(four_slots(), 2);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch), user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, batch, 20, 60)});
  for (std::uint64_t times = 0; times < 2; ++times) {
    steps(4);
    ASSERT_NE(slot_of(1), kNone);
    EXPECT_LT(bench_->scheduler.state().work[slot_of(1)].charge, 5u) << "as many as it has tokens";
    ASSERT_EQ(preempted(bench_->step({ask(2 + times, user, 8, 2)})), 1u);
    ASSERT_EQ(next_admitted(20), 1u);
  }
  EXPECT_EQ(bench_->scheduler.state().work[slot_of(1)].charge, 5u) << "79 positions";
}

TEST_F(SchedulerOrder, APreemptedRequestComesBeforeYoungerOnes) {
  begin(four_slots(), 2);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch), user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, batch, 20, 60), ask(2, batch, 20, 60), ask(3, batch, 20, 60)});
  steps(4);
  ASSERT_EQ(preempted(bench_->step({ask(4, user, 8, 2)})), 1u);
  EXPECT_EQ(next_admitted(20), 1u);
}

TEST_F(SchedulerOrder, OfEqualRequestsTheYoungestYields) {
  begin(four_slots(), 3);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch), user = tenant(ServiceClass::interactive);
  bench_->step({ask(1, batch, 20, 60), ask(2, batch, 20, 60)});
  steps(20);
  EXPECT_EQ(preempted(bench_->step({ask(3, user, 8, 4)})), 2u);
}

/// 12 pages may be charged: 4 are the floor's, 4 grow, and 4 stand still.
TEST_F(SchedulerOrder, AnAnswerThatGrowsTakesPagesOfALowerClass) {
  begin(two_slots(), 3);
  const Handle floor = tenant(ServiceClass::standard), batch = tenant(ServiceClass::batch);
  bench_->step({ask(1, floor, 16, 40)});
  bench_->step({ask(2, batch, 50, 60)});
  bench_->step({ask(3, tenant(ServiceClass::standard), 60, 60)});
  std::uint64_t victim = 0;
  for (int i = 0; i < 20 && victim == 0; ++i) victim = preempted(bench_->step());
  EXPECT_EQ(victim, 2u);
  EXPECT_NE(slot_of(3), kNone);
}

/// Two tenants have the same service. One has two slots of four; the other has seven pages, of 64 or of 13.
TEST_F(SchedulerOrder, TheDominantShareIsTheLargestOfSlotsAndPages) {
  for (const std::uint32_t pages : {64u, 13u}) {
    SchedulerLimits limits = four_slots();
    limits.pages = pages;
    limits.prefix_pages = 0;
    begin(limits, 4);
    const Handle slots = tenant(ServiceClass::interactive), wide = tenant(ServiceClass::interactive);
    bench_->step({ask(1, slots, 16, 8), ask(2, slots, 16, 8), ask(3, wide, 32, 80)});
    const auto& tenants = bench_->scheduler.state().tenants;
    ASSERT_EQ(tenants[row_of(slots)].service, tenants[row_of(wide)].service);
    const std::vector<std::uint64_t> both = admitted(bench_->step({ask(4, slots, 16, 8), ask(5, wide, 16, 8)}));
    EXPECT_EQ(both, (std::vector<std::uint64_t>{pages == 64 ? 5u : 4u}));
  }
}

TEST_F(SchedulerOrder, OfTenantsWithEqualServiceTheOneThatHoldsLessIsNext) {
  begin(four_slots(), 2);
  const Handle a = tenant(ServiceClass::standard), b = tenant(ServiceClass::standard);
  const StepPlan plan = bench_->step({ask(1, a, 16, 8), ask(2, a, 16, 8), ask(3, b, 16, 8)});
  EXPECT_EQ(admitted(plan), (std::vector<std::uint64_t>{1, 3})) << "request 2 is older";
}

TEST_F(SchedulerOrder, WhatLacksPagesIsOvertakenWithinReservationsAlone) {
  begin(two_slots(), 4);
  hold_floor();  // 8 of the 12 pages that charges may fill
  const Handle large = tenant(ServiceClass::standard), small = tenant(ServiceClass::standard);
  const Handle reserves = tenant(ServiceClass::standard, 2);
  const StepPlan plan = bench_->step({ask(1, large, 60, 8), ask(2, small, 10, 4), ask(3, reserves, 10, 4)});
  EXPECT_EQ(admitted(plan), (std::vector<std::uint64_t>{3})) << "2 floating pages are left, and 2 slots";
  bench_->step();
  EXPECT_EQ(slot_of(2), kNone) << "it waits behind the large one";
}

/// A user's short requests follow each other so that never 8 of 12 pages are free.
TEST_F(SchedulerOrder, AFloorThatWaitsLongEnoughGetsItsPages) {
  SchedulerLimits limits = two_slots();
  limits.floor_patience = 8;
  begin(limits, 4);
  const Handle user = tenant(ServiceClass::interactive), batch = tenant(ServiceClass::batch);
  std::uint64_t number = 1;
  for (int i = 0; i < 12; ++i) bench_->step({ask(++number, user, 16, 40)});
  bench_->step({ask(1, batch, 100, 20)});
  int waited = 0;
  for (; slot_of(1) == kNone && waited < 200; ++waited) {
    const bool more = waited % 12 == 0;
    bench_->step(more ? std::vector<Arrival>{ask(++number, user, 16, 40)} : std::vector<Arrival>{});
  }
  EXPECT_GT(waited, 8) << "there was no room at first";
  EXPECT_LE(waited, 8 + 44) << "its patience, and what runs";
}

/// A floor of 8 pages that ends is followed by another, and a user's 6 pages never are free beside one.
TEST_F(SchedulerOrder, AUserThatLacksPagesHasThemBeforeTheNextFloor) {
  begin(two_slots(), 3);
  const Handle user = tenant(ServiceClass::interactive), batch = tenant(ServiceClass::batch);
  for (std::uint64_t number = 10; number < 20; ++number) bench_->step({ask(number, batch, 100, 20)});
  ASSERT_NE(slot_of(10), kNone);
  bench_->step({ask(1, user, 90, 4)});
  ASSERT_EQ(slot_of(1), kNone) << "the floor's pages are its own";
  std::uint64_t first = 0;
  for (int i = 0; i < 40 && first == 0; ++i)
    for (const std::uint64_t number : admitted(bench_->step())) first = first == 0 ? number : first;
  EXPECT_EQ(first, 1u);
}

TEST_F(SchedulerOrder, WhoComputesNothingDoesNotKeepTheFloor) {
  SchedulerLimits limits = four_slots();
  limits.floor_patience = 8;
  begin(limits, 2);
  const Handle user = tenant(ServiceClass::interactive);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch);
  bench_->step({ask(1, user, 16, 100), ask(2, batch, 16, 4)});
  const auto& state = bench_->scheduler.state();
  bench_->step({client(running(99), ArrivalKind::client_blocked)});
  steps(10);
  EXPECT_EQ(slot_of(99), kNone) << "its client has not read for 8 steps";
  EXPECT_EQ(state.floor_slot, slot_of(2));
}

TEST_F(SchedulerOrder, WhoComputesNowAndThenDoesNotKeepTheFloor) {
  SchedulerLimits limits = four_slots();
  limits.floor_patience = 8;
  begin(limits, 2);
  const Handle user = tenant(ServiceClass::interactive);
  hold_floor();
  bench_->step({ask(1, user, 16, 100)});
  for (int i = 0; i < 4; ++i) {
    bench_->step({client(running(99), ArrivalKind::client_blocked)});
    steps(5);
    bench_->step({client(running(99), ArrivalKind::client_ready)});
  }
  EXPECT_EQ(bench_->scheduler.state().floor_slot, kNone) << "its client reads two tokens in seven steps";
  EXPECT_NE(slot_of(99), kNone);
}

TEST_F(SchedulerOrder, AStandingMachineTakesTheFloorFromWhoWaitsForItsClient) {
  begin(four_slots(), 2);
  const Handle user = tenant(ServiceClass::interactive);
  hold_floor();
  bench_->step({ask(1, user, 16, 100)});
  const auto& state = bench_->scheduler.state();
  const std::vector<Arrival> blocked{client(running(99), ArrivalKind::client_blocked),
                                     client(running(1), ArrivalKind::client_blocked)};
  bench_->step(blocked);
  steps(2);
  ASSERT_TRUE(state.runs.empty());
  EXPECT_EQ(preempted(bench_->step({ask(2, user, 16, 4)})), 99u);
  EXPECT_NE(slot_of(2), kNone);
}

/// Preempted, it would take the floor again and again: its tenant has had less than any other.
TEST_F(SchedulerOrder, WhoseClientDoesNotReadIsNotAdmittedAgain) {
  SchedulerLimits limits = four_slots();
  limits.floor_patience = 8;
  limits.slow_steps = 1000;
  begin(limits, 2);
  const Handle user = tenant(ServiceClass::interactive);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch);
  const auto& state = bench_->scheduler.state();
  const Handle unread = running(99);
  bench_->step({client(unread, ArrivalKind::client_blocked)});
  std::uint64_t number = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<Arrival> more;
    if (state.tenants[row_of(user)].queued < 3) more.push_back(ask(++number, user, 16, 8));
    if (state.tenants[row_of(batch)].queued < 2) more.push_back(ask(++number, batch, 16, 4));
    bench_->step(more);
  }
  EXPECT_GE(bench_->scheduler.ledger(batch)->requests_finished, 15u);
  bench_->step({client(unread, ArrivalKind::client_ready)});
  for (int i = 0; i < 100 && slot_of(99) == kNone; ++i) bench_->step();
  EXPECT_NE(slot_of(99), kNone);
}

/// Small reservations, behind which requests grow into the floating part, do not starve one that needs much of it.
TEST_F(SchedulerOrder, WhoPassesAWaitingFloorHasItsPagesWithinItsReservation) {
  SchedulerLimits limits = four_slots();
  limits.pages = 24;
  limits.prefix_pages = 1;
  limits.context = 256;
  begin(limits, 4);
  std::vector<Handle> small;
  std::uint64_t number = 0;
  for (int i = 0; i < 3; ++i) {
    Arrival one;
    one.kind = ArrivalKind::create_tenant;
    one.quota.service = ServiceClass::standard;
    one.quota.max_slots = one.quota.reserved_pages = 1;
    small.push_back(find(bench_->step({one}), EventKind::tenant_created)->subject);
  }
  const Handle large = tenant(ServiceClass::standard);
  const auto& state = bench_->scheduler.state();
  const auto refill = [&] {
    std::vector<Arrival> more;
    for (const Handle t : small)
      if (state.tenants[row_of(t)].queued < 2) more.push_back(ask(++number, t, 16, 112));
    return more;
  };
  for (const Handle t : small) {  // they grow in turn
    bench_->step({ask(++number, t, 16, 112)});
    steps(35);
  }
  std::vector<Arrival> first = refill();
  first.push_back(ask(9999, large, 200, 50));
  bench_->step(first);
  const std::uint32_t bound = limits.floor_patience + 4 * (16 / 16 + 112 + 4);
  std::uint32_t waited = 0;
  for (; waited < bound && slot_of(9999) == kNone; ++waited) bench_->step(refill());
  EXPECT_LT(waited, bound);
}

/// Each of these tenants asks once, and another comes in its place. The one that stays has had more than any of them.
TEST_F(SchedulerOrder, TenantsThatComeAndGoDoNotComeFirstForEver) {
  begin(four_slots(), 2);
  const Handle stays = tenant(ServiceClass::batch);
  bench_->step({ask(1, stays, 16, 100)});
  while (slot_of(1) != kNone) bench_->step();
  std::vector<Arrival> next;
  const auto create = [&next] {
    Arrival a;
    a.kind = ArrivalKind::create_tenant;
    a.quota.service = ServiceClass::batch;
    next.push_back(a);
  };
  for (int i = 0; i < 4; ++i) create();
  std::uint64_t number = 10;
  int waited = 0;
  for (; waited < 1000 && slot_of(2) == kNone; ++waited) {
    if (waited == 1) next.push_back(ask(2, stays, 16, 8));
    const std::vector<Arrival> now = std::exchange(next, {});
    for (const StepEvent& e : bench_->step(now).events) {
      if (e.kind == EventKind::tenant_created) next.push_back(ask(++number, e.subject, 16, 8));
      if (e.kind != EventKind::ended) continue;
      Arrival a;
      a.kind = ArrivalKind::remove_tenant;
      a.subject = e.tenant;
      next.push_back(a);
      create();
    }
  }
  EXPECT_LT(waited, 200) << "16 + 2 x 100 tokens are ahead of those who come, who have 32 in 9 steps, two at a time";
}

/// A client that does not read costs its own request alone, also where that one was preempted.
TEST_F(SchedulerOrder, YoungerRequestsOfATenantPassOneWhoseClientDoesNotRead) {
  SchedulerLimits limits = four_slots();
  limits.floor_patience = 8;
  limits.slow_steps = 1000;
  begin(limits, 3);
  const Handle user = tenant(ServiceClass::interactive);
  hold_floor();
  const Handle batch = tenant(ServiceClass::batch);
  bench_->step({ask(1, user, 16, 100), ask(2, batch, 16, 40)});
  steps(10);
  const auto& state = bench_->scheduler.state();
  const Handle unread = running(2);
  bench_->step({client(unread, ArrivalKind::client_blocked)});
  steps(2);
  ASSERT_EQ(preempted(bench_->step({ask(3, user, 16, 4), ask(4, batch, 16, 4)})), 2u);
  EXPECT_EQ(state.tenants[row_of(batch)].unread, 1u);
  for (int i = 0; i < 200 && bench_->scheduler.ledger(batch)->requests_finished == 0; ++i) bench_->step();
  EXPECT_EQ(bench_->scheduler.ledger(batch)->requests_finished, 1u) << "the younger one";
  bench_->step({client(unread, ArrivalKind::client_ready)});
  EXPECT_EQ(state.tenants[row_of(batch)].unread, 0u);
  for (int i = 0; i < 200 && bench_->scheduler.ledger(batch)->requests_finished == 1; ++i) bench_->step();
  EXPECT_EQ(bench_->scheduler.ledger(batch)->requests_finished, 2u);
}

TEST_F(SchedulerOrder, WhatATenantHadOfAnotherModelAloneIsNoDebt) {
  begin(two_slots(), 1);
  const Handle a = tenant(ServiceClass::interactive), b = tenant(ServiceClass::interactive);
  TenantUse had;
  had.service = 1000;
  for (int i = 0; i < 100; ++i) bench_->scheduler.charge(a, had, bench_->now);
  std::uint64_t number = 0;
  const auto& tenants = bench_->scheduler.state().tenants;
  for (int i = 0; i < 1000; ++i) {
    std::vector<Arrival> more;
    for (const Handle t : {a, b})
      if (tenants[row_of(t)].queued < 2) more.push_back(ask(++number, t, 16, 8));
    bench_->step(more);
  }
  EXPECT_GE(bench_->scheduler.ledger(a)->requests_finished, 20u) << "of 100, behind a debt of one charge";
}

/// Whoever has reserved pages keeps the one slot beside the floor busy, so that the other user finds neither.
TEST_F(SchedulerOrder, AUserThatLacksASlotTooHasPagesBeforeTheNextFloor) {
  SchedulerLimits limits = two_slots();
  limits.pages = 100;
  limits.context = 1000;
  begin(limits, 2);
  const Handle reserves = tenant(ServiceClass::interactive, 20), user = tenant(ServiceClass::interactive);
  const Handle batch = tenant(ServiceClass::batch);
  const auto& tenants = bench_->scheduler.state().tenants;
  std::uint64_t number = 10;
  int floors = 0;
  for (int i = 0; i < 400 && (i < 20 || tenants[row_of(user)].queued != 0); ++i) {
    std::vector<Arrival> more;
    if (tenants[row_of(reserves)].queued < 3) more.push_back(ask(++number, reserves, 16, 3));
    if (tenants[row_of(batch)].queued < 3) more.push_back(ask(++number, batch, 600, 10));
    if (i == 19) more.push_back(ask(1, user, 600, 40));
    bench_->step(more);
    const auto& s = bench_->scheduler.state();
    floors += i > 19 && s.floor_slot != kNone && s.work[s.floor_slot].admitted == s.step ? 1 : 0;
  }
  EXPECT_EQ(tenants[row_of(user)].queued, 0u);
  EXPECT_LE(floors, 1);
}

/// A tenant that always has a request in a slot, and none in its queue, is behind by what others had, and then floods.
TEST_F(SchedulerOrder, WhoIsNeverIdleBanksNoService) {
  begin(four_slots(), 4);
  const Handle heavy = tenant(ServiceClass::interactive), light = tenant(ServiceClass::interactive);
  const auto& tenants = bench_->scheduler.state().tenants;
  std::uint64_t number = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<Arrival> more;
    if (tenants[row_of(heavy)].queued < 4) more.push_back(ask(++number, heavy, 16, 8));
    if (i % 10 == 0 && tenants[row_of(light)].queued == 0) more.push_back(ask(++number, light, 16, 12));
    bench_->step(more);
  }
  const std::uint64_t before = tenants[row_of(heavy)].ledger.computed_tokens;
  for (int i = 0; i < 100; ++i) {
    std::vector<Arrival> more;
    if (tenants[row_of(heavy)].queued < 4) more.push_back(ask(++number, heavy, 16, 8));
    if (tenants[row_of(light)].queued < 4) more.push_back(ask(++number, light, 16, 8));
    bench_->step(more);
  }
  EXPECT_GT(tenants[row_of(heavy)].ledger.computed_tokens - before, 200u) << "of 1,000 that four slots compute";
}

/// A tenant that its rate holds back is no measure of whoever comes.
TEST_F(SchedulerOrder, WhoComesIsLiftedToWhoIsServedAndNotToWhoWaits) {
  begin(four_slots(), 4);
  const Handle heavy = tenant(ServiceClass::interactive);
  Arrival a;
  a.kind = ArrivalKind::create_tenant;
  a.quota.service = ServiceClass::interactive;
  a.quota.max_slots = 4;
  a.quota.decode_tokens_per_s = 1;
  const Handle slow = bench_->step({a}).events[0].subject;
  const auto& tenants = bench_->scheduler.state().tenants;
  std::uint64_t number = 0;
  const auto flood = [&](const std::vector<Handle>& who, int count) {
    for (int i = 0; i < count; ++i) {
      std::vector<Arrival> more;
      for (const Handle t : who)
        if (tenants[row_of(t)].queued < 3) more.push_back(ask(++number, t, 16, 8));
      bench_->step(more);
    }
  };
  flood({heavy, slow}, 2000);
  const Handle fresh = tenant(ServiceClass::interactive);
  const std::uint64_t before = tenants[row_of(heavy)].ledger.computed_tokens;
  flood({heavy, slow, fresh}, 100);
  EXPECT_GT(tenants[row_of(heavy)].ledger.computed_tokens - before, 200u) << "of 1,000 that four slots compute";
}

TEST_F(SchedulerOrder, TenantsThatFillTheQueueLeavePlacesForOthers) {
  SchedulerLimits limits = two_slots();
  limits.queue = 64;
  limits.arrivals = 512;
  zrt::test::SchedulerBench bench(limits);
  std::vector<Handle> crowd;
  for (int i = 0; i < 5; ++i) crowd.push_back(bench.tenant(ServiceClass::batch));
  const Handle user = bench.tenant(ServiceClass::interactive);
  for (int i = 0; i < 8; ++i) {
    std::vector<Arrival> more;
    for (int j = 0; j < 100; ++j) more.push_back(bench.request(crowd[static_cast<std::size_t>(j % 5)], 16, 40));
    bench.step(more);
  }
  EXPECT_NE(find(bench.step({bench.request(crowd[0], 16, 4)}), EventKind::refused), nullptr);
  EXPECT_LT(bench.scheduler.state().queued, 60u);
  std::vector<Arrival> answers;
  for (int i = 0; i < 4; ++i) answers.push_back(bench.request(user, 16, 4));
  EXPECT_EQ(find(bench.step(answers), EventKind::refused), nullptr);
}

/// With one slot, in which nobody finds anybody's prefixes: what was computed before a preemption is not computed again.
TEST_F(SchedulerOrder, WhatWasPreemptedFindsItsOwnPagesAgain) {
  SchedulerLimits limits = two_slots();
  limits.step_tokens = 17;
  begin(limits, 1);
  const Handle user = tenant(ServiceClass::interactive), batch = tenant(ServiceClass::batch);
  const auto alone = [](Arrival a) {
    a.shares = false;
    return a;
  };
  const auto& state = bench_->scheduler.state();
  bench_->step({alone(ask(1, batch, 100, 4))});
  for (std::uint64_t number = 2; number < 8; ++number) {
    steps(2);
    bench_->step({alone(ask(number, user, 4, 1))});
    bench_->step();
  }
  steps(12);
  const TenantLedger& ledger = *bench_->scheduler.ledger(batch);
  EXPECT_EQ(ledger.requests_finished, 1u);
  EXPECT_GE(ledger.preemptions, 3u);
  EXPECT_LE(ledger.recomputed_tokens, 16 * ledger.preemptions) << "the page in the making, each time";
  EXPECT_EQ(ledger.cached_tokens, 0u) << "it found nobody's";
  EXPECT_EQ(state.tree.size(), 0u) << "its pages went with it";
  bench_->step({alone(ask(9, batch, 100, 1))});
  EXPECT_EQ(ledger.cached_tokens, 0u);
}

/// As many tenants as there may be have as many sessions as their quotas say by default.
TEST(TenantSessions, NobodyTakesThoseOfOthers) {
  zrt::test::SchedulerBench bench(SchedulerLimits{});
  const SchedulerLimits& limits = bench.scheduler.state().limits;
  for (std::uint32_t i = 0; i < limits.tenants; ++i) {
    Arrival opens;
    opens.kind = ArrivalKind::open_session;
    opens.subject = bench.tenant(ServiceClass::standard);
    for (std::uint32_t k = 0; k < TenantQuota{}.max_sessions; ++k)
      ASSERT_EQ(bench.scheduler.ask(opens).kind, EventKind::session_opened);
    EXPECT_EQ(bench.scheduler.ask(opens).refusal, Refusal::too_many_sessions);
  }
}

TEST(TenantSessions, BelongToOneTenantAndEndTheirRequests) {
  zrt::test::SchedulerBench bench(four_slots());
  const Handle alice = bench.tenant(ServiceClass::standard), bob = bench.tenant(ServiceClass::standard);
  const auto about = [&](ArrivalKind kind, Handle subject) {
    Arrival a;
    a.kind = kind;
    a.subject = subject;
    return bench.step({a}).events[0];
  };
  const StepEvent opened = about(ArrivalKind::open_session, alice);
  ASSERT_EQ(opened.kind, EventKind::session_opened);
  const Handle session = opened.subject;
  const auto turn = [&](Handle tenant, std::uint32_t prompt) {
    Arrival a = bench.request(tenant, prompt, 20);
    a.session = session;
    return a;
  };
  const StepPlan foreign = bench.step({turn(bob, 16)});
  ASSERT_NE(find(foreign, EventKind::refused), nullptr);
  EXPECT_EQ(find(foreign, EventKind::refused)->refusal, Refusal::unknown_subject);
  EXPECT_EQ(find(bench.step({turn(alice, 40)}), EventKind::admitted)->value, 0u);
  for (int i = 0; i < 24; ++i) bench.step();
  EXPECT_EQ(find(bench.step({turn(alice, 50)}), EventKind::admitted)->value, 32u) << "a second turn finds the first";
  ASSERT_EQ(find(bench.step({bench.request(alice, 16, 20)}), EventKind::refused), nullptr);
  Arrival close;
  close.kind = ArrivalKind::close_session;
  close.subject = session;
  const StepPlan closed = bench.step({close});
  ASSERT_NE(find(closed, EventKind::ended), nullptr);
  EXPECT_EQ(find(closed, EventKind::ended)->end, EndReason::session_closed);
  EXPECT_EQ(bench.scheduler.ledger(alice)->requests_ended_early, 1u) << "the request of no session goes on";
  EXPECT_EQ(find(bench.step({turn(alice, 16)}), EventKind::refused)->refusal, Refusal::unknown_subject);
}

TEST(KeptStates, TheOneUsedLongestAgoIsTakenFirst) {
  auto states = Checkpoints::make(3, zrt::system_allocator());
  ASSERT_TRUE(states);
  std::uint32_t page = kNone;
  for (std::uint32_t row = 0; row < 3; ++row) {
    EXPECT_EQ(states->take(page, false), row);
    states->bind(row, 10 + row);
  }
  states->pin(0);
  states->unpin(0);
  states->pin(1);
  EXPECT_EQ(states->take(page, false), 2u) << "the first was used since, and the second will be loaded";
  EXPECT_EQ(page, 12u);
  EXPECT_EQ(states->take(page, false), 0u);
  EXPECT_EQ(states->take(page, false), kNone) << "one is pinned, two are written";
}

}  // namespace scheduler_order_test
