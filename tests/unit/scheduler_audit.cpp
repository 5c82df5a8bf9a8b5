// SPDX-License-Identifier: Apache-2.0
// tests/unit/scheduler_audit.cpp: what an audit finds in tables that were changed by hand.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <support/scheduler_bench.hpp>

namespace scheduler_audit_test {

using namespace zrt::serve;
using zrt::test::find;
using zrt::test::four_slots;
using Bench = zrt::test::SchedulerBench;
using State = SchedulerState<AllRules>;

/// Two tenants with cached pages, shared ones, slots that run and requests that wait. Its tables may be changed.
struct Tables {
  explicit Tables(std::uint32_t checkpoints = 0) : bench(limits(checkpoints)) {
    user = bench.tenant(ServiceClass::standard, 4);
    job = bench.tenant(ServiceClass::batch);
    bench.step({bench.request(user, 40, 2)});
    for (int i = 0; i < 3; ++i) bench.step();
    bench.step({bench.request(job, 48, 3)});
    for (int i = 0; i < 5; ++i) bench.step();
    Arrival opens;
    opens.kind = ArrivalKind::open_session;
    opens.subject = user;
    Arrival first = bench.request(user, 40, 30);
    first.session = find(bench.step({opens}), EventKind::session_opened)->subject;
    bench.step({first, bench.request(user, 40, 30), bench.request(job, 48, 30)});
    bench.step({bench.request(user, 20, 10), bench.request(user, 20, 10)});
    bench.step();
  }
  static SchedulerLimits limits(std::uint32_t checkpoints) {
    SchedulerLimits l = four_slots();
    l.checkpoints = checkpoints;
    l.recurrent = checkpoints != 0;
    l.shelf = l.recurrent ? l.slots : 0;
    return l;
  }

  State& state() { return const_cast<State&>(bench.scheduler.state()); }
  PageMeta& meta(std::uint32_t page) { return const_cast<PageMeta&>(state().pages.meta()[page]); }
  /// A page of a list that is in the tree, or one that is its slot's own, and the slot.
  std::uint32_t listed(bool in_tree, std::uint32_t& slot) {
    for (slot = 0; slot < state().slots.size(); ++slot)
      for (std::uint32_t i = 0; i < state().slots[slot].pages; ++i)
        if ((i < state().work[slot].in_tree) == in_tree) return bench.scheduler.pages(slot)[i];
    ADD_FAILURE() << "no such page";
    return 0;
  }
  std::uint32_t listed(bool in_tree) {
    std::uint32_t slot = 0;
    return listed(in_tree, slot);
  }
  /// Puts a page at another place of the tree.
  void plant(std::uint32_t page, const std::function<void(PrefixDomain&)>& change) {
    PrefixTree<AllRules>& tree = state().tree;
    PrefixDomain domain = tree.domain(page);
    const std::uint32_t parent = tree.parent(page);
    const auto tokens = tree.tokens(page);
    tree.erase(page);
    change(domain);
    tree.insert(page, domain, parent, tokens.data());
  }
  RequestRow& request(RequestStage stage) {
    for (RequestRow& r : state().requests)
      if (r.stage == stage) return r;
    ADD_FAILURE() << "no such request";
    return state().requests[0];
  }
  /// A slot that runs, and does not hold the floor.
  std::uint32_t busy() {
    std::uint32_t slot = 0;
    while (slot == state().floor_slot || state().work[slot].request == kNone) ++slot;
    return slot;
  }

  Bench bench;
  Handle user = 0;
  Handle job = 0;
};

void expect_found(const std::string& what, const std::function<void(Tables&)>& change, std::uint32_t checkpoints = 0) {
  Tables tables(checkpoints);
  ASSERT_TRUE(tables.bench.audit.run(tables.state()));
  change(tables);
  const auto checked = tables.bench.audit.run(tables.state());
  ASSERT_FALSE(checked) << "nobody finds a " << what;
  EXPECT_NE(checked.error().text().find(what), std::string_view::npos) << checked.error().text();
}

TEST(SchedulerAudit, FindsPagesAtAWrongPlaceOfTheTree) {
  const auto oldest = [](Tables& t) { return t.state().pages.oldest(); };
  expect_found("is in the tree of another scope", [&](Tables& t) {
    t.plant(oldest(t), [&](PrefixDomain& d) { d.scope = d.scope == t.user ? t.job : t.user; });
  });
  expect_found("is in the tree of another scope", [&](Tables& t) {
    PrefixScope& scope = t.meta(oldest(t)).scope;
    scope = scope == t.user ? t.job : t.user;
  });
  expect_found("is in the tree of another model",
               [&](Tables& t) { t.plant(oldest(t), [](PrefixDomain& d) { d.model = 77; }); });
  expect_found("is in the tree of another model",
               [&](Tables& t) { t.plant(oldest(t), [](PrefixDomain& d) { d.kv_type = 77; }); });
  expect_found("continues another's", [&](Tables& t) { t.plant(oldest(t), [](PrefixDomain& d) { d.adapter = 5; }); });
}

TEST(SchedulerAudit, FindsSharedPagesThatMayBeWritten) {
  expect_found("is in the tree and may be written", [](Tables& t) {
    std::uint32_t slot = 0;
    const std::uint32_t page = t.listed(true, slot);
    t.meta(page).owner_slot = slot;
  });
  expect_found("is in the tree and may be written", [](Tables& t) { t.meta(t.state().pages.oldest()).owner_slot = 0; });
}

TEST(SchedulerAudit, FindsPagesThatTellOfOtherTokens) {
  expect_found("tokens and slot", [](Tables& t) { t.state().pages.fill(t.listed(false), 16); });
  expect_found("tokens and slot", [](Tables& t) { t.state().pages.fill(t.listed(false), 0); });
  expect_found("is somebody's", [](Tables& t) { t.meta(t.state().pages.free_pages().back()).scope = t.user; });
}

/// A page that the tree has is listed from there, not kept as a copy.
TEST(SchedulerAudit, FindsCopiesOfSharedPages) {
  expect_found("keeps full pages for itself", [](Tables& t) {
    std::uint32_t slot = 0;
    t.listed(true, slot);
    State& s = t.state();
    const std::uint32_t last = s.work[slot].in_tree - 1;
    const std::uint32_t copy = s.pages.take(s.domain(s.work[slot].request).scope, slot);
    s.pages.fill(copy, zrt::kPageTokens);
    s.pages.release(s.list(slot)[last], true);
    s.list(slot)[last] = copy;
    s.work[slot].in_tree = last;
  });
}

TEST(SchedulerAudit, FindsSlotsThatShowWhatTheirRequestIsNot) {
  const std::string shows = "shows what its request is not";
  expect_found(shows, [](Tables& t) { t.state().slots[t.busy()].priority = 0; });
  expect_found(shows, [](Tables& t) { ++t.state().slots[t.busy()].session; });
  expect_found(shows, [](Tables& t) { ++t.state().slots[t.busy()].generated_tokens; });
  expect_found("holds a floor that is another's", [](Tables& t) { t.state().work[t.busy()].floor = true; });
  expect_found("holds something", [](Tables& t) {
    t.state().end(t.state().work[0].request, EndReason::cancelled);
    t.state().runs.clear();
    t.state().slots[0].position = 17;
  });
  expect_found("pages set aside", [](Tables& t) { t.state().work[t.busy()].complete_charge = true; });
}

TEST(SchedulerAudit, FindsRequestsOfWhatIsGone) {
  expect_found("names slot", [](Tables& t) { t.request(RequestStage::waiting).slot = 0; });
  expect_found("of a session that is closed", [](Tables& t) { t.request(RequestStage::waiting).session = 3; });
}

TEST(SchedulerAudit, FindsAnswersThatWaitForNobody) {
  expect_found("unread answers of 0", [](Tables& t) { ++t.state().tenants[row_of(t.user)].unread; });
  expect_found("unread answers are 0, counted 1", [](Tables& t) { ++t.state().unread; });
}

TEST(SchedulerAudit, FindsRunsOfOtherTokensAndStates) {
  static constexpr std::array<std::uint32_t, 128> kOther{};
  expect_found("reads tokens of another request", [](Tables& t) { t.state().runs[0].tokens = kOther.data(); });
  expect_found("loads a state that its slot does not", [](Tables& t) { t.state().runs[0].load = 0; }, 6);
}

TEST(SchedulerAudit, FindsShelvedStatesThatAreNobodysOrAnothers) {
  expect_found(
      "has a state on the shelf that is not its own", [](Tables& t) { t.request(RequestStage::waiting).shelf = 0; }, 6);
  expect_found(
      "will load a shelved state of another request", [](Tables& t) { t.state().work[t.busy()].shelf = 0; }, 6);
}

TEST(SchedulerAudit, FindsRatesThatDoNotAddUp) {
  expect_found("a rate of tenant", [](Tables& t) {
    TokenWindow& window = t.state().tenants[row_of(t.user)].decoded;
    std::array<std::uint64_t, sizeof(TokenWindow) / 8> words{};
    std::memcpy(words.data(), &window, sizeof window);
    words[0] += 1;  // of a bucket, which the sum does not have
    std::memcpy(static_cast<void*>(&window), words.data(), sizeof window);
  });
}

}  // namespace scheduler_audit_test
