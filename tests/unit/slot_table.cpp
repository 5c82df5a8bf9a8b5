// SPDX-License-Identifier: Apache-2.0
// tests/unit/slot_table.cpp: every lifecycle event on every class of state, slots that come and go.
#include <zrt/serve/slot_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <data/models/tiny_models.hpp>
#include <optional>
#include <set>
#include <support/states_only.hpp>
#include <vector>

namespace slot_table_test {
namespace {

using namespace zrt;

using test::StatesOnly;
using Table = serve::SlotTable<StatesOnly>;

constexpr std::uint32_t kSlots = 3;
constexpr std::uint32_t kPagesPerSlot = 4;
constexpr std::uint32_t kPages = kSlots * kPagesPerSlot;
/// Ids of the states in the plan below.
constexpr std::size_t kKeys = 0, kMoreKeys = 1, kMatrix = 2, kOtherGroup = 3;

class SlotTableTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::array infos{StateInfo{StateLifecycle::kv_paged, DType::f16, 0, 0, {2, 4, 4, 0}},
                           StateInfo{StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 8, 2, 0}},
                           StateInfo{StateLifecycle::recurrent, DType::f32, 0, 0, {3, 5, 0, 0}},
                           StateInfo{StateLifecycle::kv_paged, DType::f16, 1, 0, {1, 4, 4, 0}}};
    for (const StateInfo& info : infos) {
      const auto bytes = unit_bytes(info).get("a state");
      ASSERT_TRUE(bytes);
      StateDescriptor d;
      d.id = static_cast<std::uint8_t>(plan_.states.size());
      d.size_bytes = *bytes;
      d.lifecycle = info.lifecycle;
      d.info = info;
      ASSERT_TRUE(plan_.states.push_back(d));
    }
    auto states = exec::StateStore<StatesOnly>::make(plan_, device_, groups_, kSlots);
    ASSERT_TRUE(states);
    states_.emplace(std::move(*states));
    auto table = Table::make(*states_, device_, groups_, kSlots, kPagesPerSlot, system_allocator());
    ASSERT_TRUE(table);
    table_.emplace(std::move(*table));
  }

  [[nodiscard]] std::uint32_t page(std::uint32_t group, std::uint32_t slot, std::uint32_t i) const {
    return table_->pages()[(group * kSlots + slot) * kPagesPerSlot + i];
  }
  void fill(std::size_t state, std::uint32_t unit, int value) {
    const std::vector<std::byte> bytes(plan_.states[state].size_bytes, static_cast<std::byte>(value));
    ASSERT_TRUE(device_.write_unit(states_->state(state), unit, bytes));
  }
  /// The value that all bytes of a unit have, or -1.
  [[nodiscard]] int content(std::size_t state, std::uint32_t unit) {
    std::vector<std::byte> bytes(plan_.states[state].size_bytes);
    EXPECT_TRUE(device_.read_unit(states_->state(state), unit, bytes));
    for (std::byte b : bytes)
      if (b != bytes[0]) return -1;
    return static_cast<int>(bytes[0]);
  }
  [[nodiscard]] std::uint32_t acquire() {
    const auto slot = table_->acquire();
    EXPECT_TRUE(slot);
    return slot ? *slot : Table::kNoSlot;
  }

  std::array<exec::CacheGroup, 2> groups_{{{0, kPagesPerSlot, kPages}, {0, kPagesPerSlot, kPages}}};
  plan::ExecutionPlan plan_;
  exec::HostDevice device_;
  std::optional<exec::StateStore<StatesOnly>> states_;
  std::optional<Table> table_;
};

TEST_F(SlotTableTest, EveryEventDoesWhatTheMatrixSaysToPagesAndBlocks) {
  constexpr std::array events{StateEvent::alloc, StateEvent::reset, StateEvent::reuse, StateEvent::evict,
                              StateEvent::deinit};
  static_assert(events.size() + 1 == kStateEvents, "clone_for_fork needs two slots and has a test of its own");
  for (const StateEvent event : events) {
    SCOPED_TRACE(static_cast<int>(event));
    const std::uint32_t slot = acquire();
    ASSERT_TRUE(table_->reserve(slot, 33));
    ASSERT_EQ(table_->free_pages(), kPages - 3);
    fill(kMatrix, slot, 7);
    ASSERT_TRUE(table_->apply(event, slot));

    const StateAction paged = action(StateLifecycle::kv_paged, event);
    const bool drops = paged == StateAction::drop_pages || paged == StateAction::save_then_drop;
    EXPECT_TRUE(drops || paged == StateAction::nothing);
    EXPECT_EQ(table_->free_pages(), drops ? kPages : kPages - 3);
    const StateAction block = action(StateLifecycle::recurrent, event);
    EXPECT_EQ(content(kMatrix, slot), block == StateAction::zero_block ? 0 : 7);
    ASSERT_TRUE(table_->release(slot));
    EXPECT_EQ(table_->free_pages(), kPages);
  }
}

TEST_F(SlotTableTest, AForkSharesFullPagesAndCopiesTheRest) {
  const std::uint32_t from = acquire();
  const std::uint32_t to = acquire();
  ASSERT_TRUE(table_->reserve(from, 40));  // two full pages and a third with 8 positions
  for (std::uint32_t i = 0; i < 3; ++i) {
    fill(kKeys, page(0, from, i), 10 + static_cast<int>(i));
    fill(kMoreKeys, page(0, from, i), 20 + static_cast<int>(i));
    fill(kOtherGroup, page(1, from, i), 30 + static_cast<int>(i));
  }
  fill(kMatrix, from, 5);
  fill(kMatrix, to, 99);
  ASSERT_TRUE(table_->fork(from, to, 40));
  EXPECT_EQ(table_->free_pages(), kPages - 4) << "two pages are shared, one is copied";
  for (std::uint32_t group : {0u, 1u}) {
    EXPECT_EQ(page(group, to, 0), page(group, from, 0));
    EXPECT_EQ(page(group, to, 1), page(group, from, 1));
    EXPECT_NE(page(group, to, 2), page(group, from, 2));
  }
  EXPECT_EQ(content(kKeys, page(0, to, 2)), 12);
  EXPECT_EQ(content(kMoreKeys, page(0, to, 2)), 22);
  EXPECT_EQ(content(kOtherGroup, page(1, to, 2)), 32);
  EXPECT_EQ(content(kMatrix, to), 5);

  // Both go on by themselves: what one writes the other never sees.
  fill(kKeys, page(0, to, 2), 77);
  fill(kMatrix, to, 78);
  EXPECT_EQ(content(kKeys, page(0, from, 2)), 12);
  EXPECT_EQ(content(kMatrix, from), 5);
  // A shared page lives until its last owner gives it up.
  ASSERT_TRUE(table_->release(from));
  EXPECT_EQ(table_->free_pages(), kPages - 3);
  EXPECT_EQ(content(kKeys, page(0, to, 0)), 10);
  ASSERT_TRUE(table_->release(to));
  EXPECT_EQ(table_->free_pages(), kPages);
}

TEST_F(SlotTableTest, AForkAtAPageBorderCopiesNoPage) {
  const std::uint32_t from = acquire();
  const std::uint32_t to = acquire();
  ASSERT_TRUE(table_->reserve(from, 32));
  ASSERT_TRUE(table_->fork(from, to, 32));
  EXPECT_EQ(table_->free_pages(), kPages - 2);
  ASSERT_TRUE(table_->release(to));
  EXPECT_EQ(table_->free_pages(), kPages - 2);
  ASSERT_TRUE(table_->release(from));
  EXPECT_EQ(table_->free_pages(), kPages);
}

TEST_F(SlotTableTest, SlotsComeCleanAndRunOut) {
  std::set<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    slots.insert(acquire());
    fill(kMatrix, *slots.rbegin(), 40);
  }
  EXPECT_EQ(slots.size(), kSlots);
  EXPECT_EQ(acquire(), Table::kNoSlot);
  ASSERT_TRUE(table_->release(1));
  EXPECT_EQ(content(kMatrix, 1), 40) << "giving a slot up touches nothing";
  EXPECT_EQ(acquire(), 1u);
  EXPECT_EQ(content(kMatrix, 1), 0) << "a recycled slot knows nothing of its last request";
}

TEST_F(SlotTableTest, ReservingTooMuchIsAnErrorAndTakesNothing) {
  const std::uint32_t slot = acquire();
  ASSERT_TRUE(table_->reserve(slot, 16));
  const auto r = table_->reserve(slot, kPagesPerSlot * kPageTokens + 1);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(table_->free_pages(), kPages - 1);
  ASSERT_TRUE(table_->reserve(slot, 16)) << "what is there already is not reserved again";
  EXPECT_EQ(table_->free_pages(), kPages - 1);

  const std::array<exec::CacheGroup, 2> small{{{0, kPagesPerSlot, 5}, {0, kPagesPerSlot, 5}}};
  auto few = Table::make(*states_, device_, small, kSlots, kPagesPerSlot, system_allocator());
  ASSERT_TRUE(few);
  ASSERT_TRUE(few->reserve(0, 64));
  const auto none_left = few->reserve(1, 32);
  ASSERT_FALSE(none_left);
  EXPECT_EQ(none_left.error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(few->free_pages(), 1u);
}

TEST_F(SlotTableTest, ASavedSlotComesBackInAnother) {
  const std::uint32_t slot = acquire();
  ASSERT_TRUE(table_->reserve(slot, 20));
  for (std::uint32_t i = 0; i < 2; ++i) {
    fill(kKeys, page(0, slot, i), 1 + static_cast<int>(i));
    fill(kMoreKeys, page(0, slot, i), 3 + static_cast<int>(i));
    fill(kOtherGroup, page(1, slot, i), 5 + static_cast<int>(i));
  }
  fill(kMatrix, slot, 9);
  std::vector<std::byte> bytes(table_->snapshot_bytes(20));
  ASSERT_TRUE(table_->save(slot, 20, bytes));
  ASSERT_TRUE(table_->release(slot));

  const std::uint32_t first = acquire();
  ASSERT_TRUE(table_->reserve(first, 1));  // so that the pages differ
  const std::uint32_t second = acquire();
  ASSERT_TRUE(table_->reserve(second, 20));
  ASSERT_TRUE(table_->restore(second, 20, bytes));
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(content(kKeys, page(0, second, i)), 1 + static_cast<int>(i));
    EXPECT_EQ(content(kMoreKeys, page(0, second, i)), 3 + static_cast<int>(i));
    EXPECT_EQ(content(kOtherGroup, page(1, second, i)), 5 + static_cast<int>(i));
  }
  EXPECT_EQ(content(kMatrix, second), 9);
}

/// Thousands of requests that come, grow, fork and are dropped at any moment leave every page free,
/// and no page is ever in two hands that do not share it.
TEST_F(SlotTableTest, NothingLeaksOverManyRequests) {
  test::TinyRandom random(11);
  std::array<std::uint32_t, kSlots> positions{};
  std::array<bool, kSlots> live{};
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t slot = random.below(kSlots);
    switch (random.below(4)) {
      case 0:
        if (const std::uint32_t got = acquire(); got != Table::kNoSlot) {
          ASSERT_FALSE(live[got]);
          live[got] = true;
          positions[got] = 0;
        }
        break;
      case 1:
        if (live[slot]) {
          ASSERT_TRUE(table_->release(slot));
          live[slot] = false;
        }
        break;
      case 2:
        if (live[slot]) {
          positions[slot] = std::min(positions[slot] + random.below(20), kPagesPerSlot * kPageTokens);
          ASSERT_TRUE(table_->reserve(slot, positions[slot]));
        }
        break;
      default: {
        const std::uint32_t to = random.below(kSlots);
        if (to == slot || !live[slot] || !live[to]) break;
        ASSERT_TRUE(table_->fork(slot, to, positions[slot]));
        positions[to] = positions[slot];
      }
    }
    for (std::uint32_t group : {0u, 1u}) {
      std::multiset<std::uint32_t> last_pages;
      for (std::uint32_t s = 0; s < kSlots; ++s)
        if (live[s] && positions[s] % kPageTokens != 0) last_pages.insert(page(group, s, positions[s] / kPageTokens));
      for (std::uint32_t p : last_pages) ASSERT_EQ(last_pages.count(p), 1u) << "a page that is written has two owners";
    }
  }
  for (std::uint32_t s = 0; s < kSlots; ++s) ASSERT_TRUE(!live[s] || table_->release(s));
  EXPECT_EQ(table_->free_pages(), kPages);
}

}  // namespace
}  // namespace slot_table_test
