// SPDX-License-Identifier: Apache-2.0
// tests/unit/sliding_slots.cpp: page lists that slide with a window: what rows see stays, what none sees goes back.
#include <zrt/serve/slot_table.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <data/models/tiny_models.hpp>
#include <optional>
#include <support/states_only.hpp>
#include <vector>

namespace sliding_slots_test {
namespace {

using namespace zrt;

using Table = serve::SlotTable<test::StatesOnly>;

constexpr std::array<std::uint32_t, 3> kWindows{0, 20, 1};
constexpr std::uint32_t kSlots = 4, kPagesPerSlot = 40;
constexpr std::uint32_t kRows = 24;  // of a step

/// Group g sees kWindows[g] positions. Each position's page holds what the slot's sequence has there.
class SlidingSlots : public testing::Test {
 protected:
  SlidingSlots() : groups_(system_allocator()) {}

  void SetUp() override {
    for (std::size_t g = 0; g < kWindows.size(); ++g) {
      StateInfo info{StateLifecycle::kv_paged, DType::f32, static_cast<std::uint8_t>(g), 0, {1, 1, 1, kWindows[g]}};
      const auto bytes = unit_bytes(info).get("a state");
      ASSERT_TRUE(bytes);
      ASSERT_TRUE(plan_.states.push_back({.id = static_cast<std::uint8_t>(g),
                                          .size_bytes = *bytes,
                                          .lifecycle = StateLifecycle::kv_paged,
                                          .info = info}));
    }
    const exec::ExecutorSizes sizes{
        .slots = kSlots, .prefill_tokens = kRows, .pages = kSlots * kPagesPerSlot, .pages_per_slot = kPagesPerSlot};
    auto groups = exec::cache_groups(plan_.states.span(), sizes, system_allocator());
    ASSERT_TRUE(groups) << groups.error().text();
    groups_ = std::move(*groups);
    auto states = exec::StateStore<test::StatesOnly>::make(plan_, device_, groups_.span(), kSlots);
    ASSERT_TRUE(states);
    states_.emplace(std::move(*states));
    auto table = Table::make(*states_, device_, groups_.span(), kSlots, kPagesPerSlot, system_allocator());
    ASSERT_TRUE(table);
    table_.emplace(std::move(*table));
  }

  [[nodiscard]] std::uint32_t page(std::size_t group, std::uint32_t slot, std::uint32_t index) const {
    return table_->pages()[(group * kSlots + slot) * kPagesPerSlot + index];
  }
  /// The element of a position, as key 0.
  [[nodiscard]] float* element(std::size_t group, std::uint32_t slot, std::uint32_t position) {
    const std::uint32_t id = page(group, slot, position / kPageTokens);
    if (id >= groups_[group].pages) return nullptr;
    return reinterpret_cast<float*>(states_->state(group).unit(id)) + position % kPageTokens;
  }

  /// A step of `rows` rows: they find what they see, then their positions are written.
  void step(std::uint32_t slot, std::vector<float>& sequence, std::uint32_t rows, float first_value) {
    const auto begin = static_cast<std::uint32_t>(sequence.size());
    std::vector<std::uint32_t> slots(rows, slot), positions(rows);
    for (std::uint32_t i = 0; i < rows; ++i) {
      positions[i] = begin + i;
      sequence.push_back(first_value + static_cast<float>(i));
    }
    exec::Batch batch;
    batch.tokens = batch.slots = slots;
    batch.positions = positions;
    batch.pages = table_->pages();
    const auto advanced = table_->advance(batch);
    ASSERT_TRUE(advanced) << advanced.error().text();
    for (std::size_t g = 0; g < kWindows.size(); ++g)
      for (const std::uint32_t position : positions) {
        ASSERT_NE(element(g, slot, position), nullptr) << "group " << g << ", position " << position;
        *element(g, slot, position) = sequence[position];
      }
    expect_seen(slot, sequence, begin);
  }
  /// All that rows at `position` and later see is there.
  void expect_seen(std::uint32_t slot, const std::vector<float>& sequence, std::uint32_t position) {
    for (std::size_t g = 0; g < kWindows.size(); ++g) {
      const std::uint32_t window = kWindows[g];
      for (std::size_t p = window != 0 && position >= window ? position - window + 1 : 0; p < sequence.size(); ++p) {
        const float* at = element(g, slot, static_cast<std::uint32_t>(p));
        ASSERT_NE(at, nullptr) << "group " << g << ", slot " << slot << ", position " << p;
        ASSERT_EQ(*at, sequence[p]) << "group " << g << ", slot " << slot << ", position " << p;
      }
    }
  }
  [[nodiscard]] std::uint32_t held(std::size_t group, std::uint32_t slot) const {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < kPagesPerSlot; ++i) count += page(group, slot, i) != serve::kNoPage ? 1u : 0u;
    return count;
  }
  [[nodiscard]] std::uint32_t acquire() {
    const auto slot = table_->acquire();
    EXPECT_TRUE(slot);
    return slot ? *slot : Table::kNoSlot;
  }

  plan::ExecutionPlan plan_;
  exec::HostDevice device_;
  Vector<exec::CacheGroup> groups_;
  std::optional<exec::StateStore<test::StatesOnly>> states_;
  std::optional<Table> table_;
};

TEST_F(SlidingSlots, ASequenceFarLongerThanTheWindowNeedsNoMorePages) {
  const std::uint32_t slot = acquire();
  ASSERT_TRUE(table_->reserve(slot, kPagesPerSlot * kPageTokens));
  std::vector<float> sequence;
  const std::size_t free = table_->free_pages(1);
  EXPECT_EQ(free, (kSlots - 1) * exec::pages_of_step(20, kRows));
  while (sequence.size() + kRows <= kPagesPerSlot * kPageTokens) {
    step(slot, sequence, sequence.size() % 3 == 0 ? kRows : 1, static_cast<float>(sequence.size()));
    EXPECT_LE(held(1, slot), exec::pages_of_step(20, kRows));
    EXPECT_GE(table_->free_pages(1), free) << "what goes back makes room for what is taken";
    EXPECT_EQ(held(0, slot), kPagesPerSlot);
  }
  ASSERT_GT(sequence.size(), 20u * 25);
  // Nothing before the window has a page.
  const std::uint32_t before = first_page(20, static_cast<std::uint32_t>(sequence.size()) - kRows);
  ASSERT_GT(before, 30u);
  for (std::uint32_t i = 0; i + 2 < before; ++i) EXPECT_EQ(page(1, slot, i), serve::kNoPage);
  ASSERT_TRUE(table_->release(slot));
  EXPECT_EQ(table_->used_pages(), 0u);
}

TEST_F(SlidingSlots, ABatchSlidesEachSlotToItsOwnFirstRow) {
  const std::uint32_t one = acquire(), other = acquire();
  for (const std::uint32_t slot : {one, other}) ASSERT_TRUE(table_->reserve(slot, 600));
  std::vector<float> first, second;
  for (int i = 0; i < 20; ++i) step(one, first, kRows, static_cast<float>(i * 100));
  step(other, second, 3, 7.0f);
  // Rows of one slot on both sides of the other's: the first of them sees furthest back.
  const auto at = static_cast<std::uint32_t>(first.size());
  const std::array<std::uint32_t, 3> slots{one, other, one}, positions{at, 3, at + 20};
  exec::Batch batch;
  batch.tokens = batch.slots = slots;
  batch.positions = positions;
  ASSERT_TRUE(table_->advance(batch));
  expect_seen(one, first, at);
  expect_seen(other, second, 3);
}

TEST_F(SlidingSlots, ASlotThatIsSavedInTheMiddleComesBackInAnother) {
  const std::uint32_t slot = acquire();
  ASSERT_TRUE(table_->reserve(slot, 600));
  std::vector<float> sequence;
  for (int i = 0; i < 17; ++i) step(slot, sequence, kRows - 1, static_cast<float>(i * 1000));
  const auto positions = static_cast<std::uint32_t>(sequence.size());
  ASSERT_NE(positions % kPageTokens, 0u);
  std::vector<std::byte> bytes(table_->snapshot_bytes(positions));
  const std::uint64_t page_bytes = plan_.states[0].size_bytes;
  const std::uint32_t all = pages_for(positions);
  EXPECT_EQ(bytes.size(), (all + (all - first_page(20, positions)) + 1) * page_bytes) << "no page that no row sees";
  ASSERT_TRUE(table_->save(slot, positions, bytes));
  ASSERT_TRUE(table_->release(slot));

  const std::uint32_t first = acquire(), second = acquire();
  ASSERT_TRUE(table_->reserve(first, 600));
  ASSERT_TRUE(table_->reserve(second, 600));
  ASSERT_TRUE(table_->restore(second, positions, bytes));
  expect_seen(second, sequence, positions);
  for (int i = 0; i < 5; ++i) step(second, sequence, kRows, static_cast<float>(i));
}

TEST_F(SlidingSlots, AForkSharesWhatRowsStillSeeAndBothGoOn) {
  const std::uint32_t from = acquire(), to = acquire();
  ASSERT_TRUE(table_->reserve(from, 600));
  std::vector<float> sequence;
  for (int i = 0; i < 17; ++i) step(from, sequence, kRows - 1, static_cast<float>(i * 1000));
  const auto positions = static_cast<std::uint32_t>(sequence.size());
  ASSERT_TRUE(table_->fork(from, to, positions));
  EXPECT_EQ(page(1, to, first_page(20, positions)), page(1, from, first_page(20, positions)));
  EXPECT_NE(page(1, to, positions / kPageTokens), page(1, from, positions / kPageTokens));
  ASSERT_TRUE(table_->reserve(to, 600));
  std::vector<float> other = sequence;
  for (int i = 0; i < 8; ++i) {
    step(from, sequence, i % 3 == 0 ? 1 : 21, static_cast<float>(i));
    step(to, other, 7, static_cast<float>(-i));
    expect_seen(from, sequence, static_cast<std::uint32_t>(sequence.size()));
  }
  // What the window has left is nobody's to continue from.
  const std::uint32_t third = acquire();
  const auto late = table_->fork(from, third, positions - 60);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), Errc::invalid_state);
  std::vector<std::byte> bytes(table_->snapshot_bytes(positions - 60));
  EXPECT_EQ(table_->save(from, positions - 60, bytes).error().code(), Errc::invalid_state);
}

TEST_F(SlidingSlots, WithoutAFreePageASharedOneCannotSlide) {
  std::array<exec::CacheGroup, 3> tight{groups_[0], groups_[1], groups_[2]};
  tight[1].pages = tight[1].slot_pages + 1;
  auto table = Table::make(*states_, device_, tight, kSlots, kPagesPerSlot, system_allocator());
  ASSERT_TRUE(table);
  ASSERT_TRUE(table->reserve(0, 600));
  const std::uint32_t positions = tight[1].slot_pages * kPageTokens - 8;
  ASSERT_TRUE(table->advance(0, positions - 8));
  ASSERT_TRUE(table->fork(0, 1, positions));
  EXPECT_EQ(table->free_pages(1), 0u);
  const auto slid = table->advance(0, 300);
  ASSERT_FALSE(slid);
  EXPECT_EQ(slid.error().code(), Errc::capacity_exceeded);
  ASSERT_TRUE(table->release(1));
  EXPECT_TRUE(table->advance(0, 300)) << "the pages of the other are free now";
}

/// Requests that come, read, generate, fork, are saved, brought back and dropped at any moment always find what they
/// see, never have more than their groups' pages, and leave every page free.
TEST_F(SlidingSlots, WhateverHappensRowsFindWhatTheySee) {
  test::TinyRandom random(5);
  std::array<std::vector<float>, kSlots> sequences;
  std::array<bool, kSlots> live{};
  std::vector<float> saved_sequence;
  std::vector<std::byte> saved;
  float value = 1.0f;
  std::size_t forks = 0, restores = 0, longest = 0;
  for (int i = 0; i < 8000; ++i) {
    const std::uint32_t slot = random.below(kSlots);
    std::vector<float>& sequence = sequences[slot];
    switch (random.below(16)) {
      case 0:
        if (const std::uint32_t got = acquire(); got != Table::kNoSlot) {
          ASSERT_FALSE(live[got]);
          ASSERT_TRUE(table_->reserve(got, kPagesPerSlot * kPageTokens));
          live[got] = true;
          sequences[got].clear();
        }
        break;
      case 1:
        if (live[slot] && random.below(4) == 0) {
          ASSERT_TRUE(table_->release(slot));
          live[slot] = false;
        }
        break;
      case 2: {
        const std::uint32_t to = random.below(kSlots);
        if (to == slot || !live[slot] || !live[to]) break;
        const auto forked = table_->fork(slot, to, static_cast<std::uint32_t>(sequence.size()));
        ASSERT_TRUE(forked) << forked.error().text();
        ASSERT_TRUE(table_->reserve(to, kPagesPerSlot * kPageTokens));
        sequences[to] = sequence;
        ++forks;
        break;
      }
      case 3:
        if (!live[slot]) break;
        saved_sequence = sequence;
        saved.resize(table_->snapshot_bytes(static_cast<std::uint32_t>(sequence.size())));
        ASSERT_TRUE(table_->save(slot, static_cast<std::uint32_t>(sequence.size()), saved));
        break;
      case 4: {
        if (saved.empty()) break;
        const std::uint32_t got = acquire();
        if (got == Table::kNoSlot) break;
        ASSERT_TRUE(table_->reserve(got, kPagesPerSlot * kPageTokens));
        const auto restored = table_->restore(got, static_cast<std::uint32_t>(saved_sequence.size()), saved);
        ASSERT_TRUE(restored) << restored.error().text();
        live[got] = true;
        sequences[got] = saved_sequence;
        ++restores;
        break;
      }
      default: {
        const auto rows = random.below(3) == 0 ? 1 + random.below(kRows) : 1;
        if (!live[slot] || sequence.size() + rows > kPagesPerSlot * kPageTokens) break;
        step(slot, sequence, rows, value);
        value += 32.0f;
        longest = std::max(longest, sequence.size());
      }
    }
    if (HasFatalFailure()) return;
    for (std::uint32_t s = 0; s < kSlots; ++s) {
      if (live[s]) expect_seen(s, sequences[s], static_cast<std::uint32_t>(sequences[s].size()));
      for (std::size_t g = 0; g < kWindows.size(); ++g) ASSERT_LE(held(g, s), groups_[g].slot_pages);
    }
    ASSERT_LE(table_->used_pages(), table_->all_pages());
  }
  EXPECT_GT(forks, 50u);
  EXPECT_GT(restores, 20u);
  EXPECT_GT(longest, 500u);
  for (std::uint32_t s = 0; s < kSlots; ++s) ASSERT_TRUE(!live[s] || table_->release(s));
  EXPECT_EQ(table_->used_pages(), 0u);
}

}  // namespace
}  // namespace sliding_slots_test
