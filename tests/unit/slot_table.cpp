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

using serve::SlotPart;
using test::StatesOnly;
using Table = serve::SlotTable<StatesOnly>;

constexpr std::uint32_t kSlots = 3;
constexpr std::uint32_t kPagesPerSlot = 4;
constexpr std::uint32_t kPages = kSlots * kPagesPerSlot;
/// Of both cache groups: a slot's whole context, so that its pages are the table's and none leaves it.
constexpr std::uint32_t kWindow = kPagesPerSlot * kPageTokens;
/// Ids of the states in the plan below.
constexpr std::size_t kKeys = 0, kMoreKeys = 1, kMatrix = 2, kOtherGroup = 3;

class SlotTableTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::array infos{StateInfo{StateLifecycle::kv_paged, DType::f16, 0, 0, {2, 4, 4, kWindow}},
                           StateInfo{StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 8, 2, kWindow}},
                           StateInfo{StateLifecycle::recurrent, DType::f32, 0, 0, {3, 5, 0, 0}},
                           StateInfo{StateLifecycle::kv_paged, DType::f16, 1, 0, {1, 4, 4, kWindow}}};
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
  /// Free pages of each of the two groups.
  [[nodiscard]] std::uint64_t free_pages() const {
    EXPECT_EQ(table_->used_pages() % 2, 0u);
    return kPages - table_->used_pages() / 2;
  }

  std::array<exec::CacheGroup, 2> groups_{{{kWindow, kPagesPerSlot, kPages}, {kWindow, kPagesPerSlot, kPages}}};
  plan::ExecutionPlan plan_;
  exec::HostDevice device_;
  std::optional<exec::StateStore<StatesOnly>> states_;
  std::optional<Table> table_;
};

TEST_F(SlotTableTest, EveryEventDoesWhatTheMatrixSaysToPagesAndBlocks) {
  constexpr std::array events{StateEvent::alloc, StateEvent::reset, StateEvent::reuse, StateEvent::evict,
                              StateEvent::deinit};
  static_assert(events.size() + 1 == kStateEvents, "clone_for_fork needs two slots");
  for (const StateEvent event : events) {
    SCOPED_TRACE(static_cast<int>(event));
    constexpr std::uint32_t slot = 1;
    ASSERT_TRUE(table_->claim(slot));
    ASSERT_TRUE(table_->reserve_windows(slot, 33));
    ASSERT_EQ(free_pages(), kPages - 3);
    fill(kMatrix, slot, 7);
    ASSERT_TRUE(table_->apply(event, slot));

    const StateAction paged = action(StateLifecycle::kv_paged, event);
    const bool drops = paged == StateAction::drop_pages || paged == StateAction::save_then_drop;
    EXPECT_TRUE(drops || paged == StateAction::nothing);
    EXPECT_EQ(free_pages(), drops ? kPages : kPages - 3);
    const StateAction block = action(StateLifecycle::recurrent, event);
    EXPECT_EQ(content(kMatrix, slot), block == StateAction::zero_block ? 0 : 7);
    ASSERT_TRUE(table_->release(slot));
    EXPECT_EQ(free_pages(), kPages);
  }
}

TEST_F(SlotTableTest, AClaimedSlotIsClean) {
  ASSERT_TRUE(table_->claim(1));
  EXPECT_TRUE(table_->is_used(1));
  EXPECT_FALSE(table_->is_used(0));
  fill(kMatrix, 1, 40);
  ASSERT_TRUE(table_->release(1));
  EXPECT_FALSE(table_->is_used(1));
  EXPECT_EQ(content(kMatrix, 1), 40) << "giving a slot up touches nothing";
  ASSERT_TRUE(table_->claim(1));
  EXPECT_EQ(content(kMatrix, 1), 0) << "a recycled slot knows nothing of its last request";
}

TEST_F(SlotTableTest, PagesOfASchedulerAreListedWhereThereIsNoWindow) {
  const std::array<exec::CacheGroup, 2> groups{{{0, kPagesPerSlot, kPages}, {kWindow, kPagesPerSlot, kPages}}};
  auto table = Table::make(*states_, device_, groups, kSlots, kPagesPerSlot, system_allocator());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->shared_groups(), 1u);
  const auto listed = [&](std::uint32_t group, std::uint32_t i) {
    return table->pages()[(group * kSlots + 1) * kPagesPerSlot + i];
  };
  const std::array<std::uint32_t, 3> pages{7, 2, 5};
  ASSERT_TRUE(table->claim(1));
  table->place(1, pages);
  EXPECT_EQ(listed(0, 0), 7u);
  EXPECT_EQ(listed(0, 2), 5u);
  EXPECT_EQ(listed(0, 3), serve::kNoPage);
  EXPECT_EQ(listed(1, 0), serve::kNoPage);
  EXPECT_EQ(table->used_pages(), 0u) << "they are not the table's";
  table->place(1, std::span(pages).first(1));
  EXPECT_EQ(listed(0, 0), 7u);
  EXPECT_EQ(listed(0, 1), serve::kNoPage);
  table->place(1, {});
  ASSERT_TRUE(table->release(1));
  EXPECT_EQ(listed(0, 0), serve::kNoPage);
  EXPECT_EQ(table->used_pages(), 0u);
}

TEST_F(SlotTableTest, ReservingTooMuchIsAnError) {
  ASSERT_TRUE(table_->reserve_windows(0, 16));
  EXPECT_EQ(free_pages(), kPages - 1);
  ASSERT_TRUE(table_->reserve_windows(0, 16)) << "what is there already is not reserved again";
  EXPECT_EQ(free_pages(), kPages - 1);

  const std::array<exec::CacheGroup, 2> small{{{kWindow, kPagesPerSlot, 5}, {kWindow, kPagesPerSlot, 5}}};
  auto few = Table::make(*states_, device_, small, kSlots, kPagesPerSlot, system_allocator());
  ASSERT_TRUE(few);
  ASSERT_TRUE(few->reserve_windows(0, 64));
  const auto none_left = few->reserve_windows(1, 32);
  ASSERT_FALSE(none_left);
  EXPECT_EQ(none_left.error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(few->used_pages(), 2 * 4u);
}

TEST_F(SlotTableTest, ASavedSlotComesBackInAnother) {
  constexpr std::uint32_t slot = 0;
  ASSERT_TRUE(table_->claim(slot));
  ASSERT_TRUE(table_->reserve_windows(slot, 20));
  for (std::uint32_t i = 0; i < 2; ++i) {
    fill(kKeys, page(0, slot, i), 1 + static_cast<int>(i));
    fill(kMoreKeys, page(0, slot, i), 3 + static_cast<int>(i));
    fill(kOtherGroup, page(1, slot, i), 5 + static_cast<int>(i));
  }
  fill(kMatrix, slot, 9);
  std::vector<std::byte> bytes(table_->bytes_of(SlotPart::all, 20));
  ASSERT_TRUE(table_->save(SlotPart::all, slot, 20, bytes));
  ASSERT_TRUE(table_->release(slot));

  constexpr std::uint32_t first = 0, second = 1;
  ASSERT_TRUE(table_->claim(first));
  ASSERT_TRUE(table_->reserve_windows(first, 1));  // so that the pages differ
  ASSERT_TRUE(table_->claim(second));
  ASSERT_TRUE(table_->reserve_windows(second, 20));
  ASSERT_TRUE(table_->restore(SlotPart::all, second, 20, bytes));
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(content(kKeys, page(0, second, i)), 1 + static_cast<int>(i));
    EXPECT_EQ(content(kMoreKeys, page(0, second, i)), 3 + static_cast<int>(i));
    EXPECT_EQ(content(kOtherGroup, page(1, second, i)), 5 + static_cast<int>(i));
  }
  EXPECT_EQ(content(kMatrix, second), 9);
}

/// Thousands of requests that come, grow and are dropped at any moment leave every page free, and no page is ever in two
/// hands.
TEST_F(SlotTableTest, NothingLeaksOverManyRequests) {
  test::TinyRandom random(11);
  std::array<std::uint32_t, kSlots> positions{};
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t slot = random.below(kSlots);
    if (!table_->is_used(slot)) {
      ASSERT_TRUE(table_->claim(slot));
      positions[slot] = 0;
    } else if (random.below(4) == 0) {
      ASSERT_TRUE(table_->release(slot));
    } else {
      positions[slot] = std::min(positions[slot] + random.below(20), kWindow);
      ASSERT_TRUE(table_->reserve_windows(slot, positions[slot]));
    }
    for (std::uint32_t group : {0u, 1u}) {
      std::multiset<std::uint32_t> pages;
      for (std::uint32_t s = 0; s < kSlots; ++s)
        for (std::uint32_t p = 0; table_->is_used(s) && p < pages_for(positions[s]); ++p)
          pages.insert(page(group, s, p));
      for (std::uint32_t p : pages) ASSERT_EQ(pages.count(p), 1u) << "a page has two owners";
      ASSERT_EQ(pages.size(), kPages - free_pages());
    }
  }
  for (std::uint32_t s = 0; s < kSlots; ++s) ASSERT_TRUE(!table_->is_used(s) || table_->release(s));
  EXPECT_EQ(free_pages(), kPages);
}

}  // namespace
}  // namespace slot_table_test
