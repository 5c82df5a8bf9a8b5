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

using serve::SlotPart;
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
  /// Gives a slot the pages of as many positions, those of group 0 as a scheduler would.
  void begin(std::uint32_t slot, std::uint32_t positions) {
    ASSERT_TRUE(table_->claim(slot));
    std::array<std::uint32_t, kPagesPerSlot> own{};
    for (std::uint32_t i = 0; i < kPagesPerSlot; ++i) own[i] = slot * kPagesPerSlot + i;
    table_->place(slot, std::span(own).first(pages_for(positions)));
    ASSERT_TRUE(table_->reserve_windows(slot, positions));
  }
  void end(std::uint32_t slot) {
    table_->place(slot, {});
    ASSERT_TRUE(table_->release(slot));
  }

  plan::ExecutionPlan plan_;
  exec::HostDevice device_;
  Vector<exec::CacheGroup> groups_;
  std::optional<exec::StateStore<test::StatesOnly>> states_;
  std::optional<Table> table_;
};

TEST_F(SlidingSlots, ASequenceFarLongerThanTheWindowNeedsNoMorePages) {
  constexpr std::uint32_t slot = 2;
  begin(slot, kPagesPerSlot * kPageTokens);
  std::vector<float> sequence;
  const std::uint64_t used = table_->used_pages();
  EXPECT_EQ(used, exec::pages_of_step(20, kRows) + exec::pages_of_step(1, kRows));
  while (sequence.size() + kRows <= kPagesPerSlot * kPageTokens) {
    step(slot, sequence, sequence.size() % 3 == 0 ? kRows : 1, static_cast<float>(sequence.size()));
    EXPECT_LE(held(1, slot), exec::pages_of_step(20, kRows));
    EXPECT_LE(table_->used_pages(), used) << "what goes back makes room for what is taken";
    EXPECT_EQ(held(0, slot), kPagesPerSlot);
  }
  ASSERT_GT(sequence.size(), 20u * 25);
  // Nothing before the window has a page.
  const std::uint32_t before = first_page(20, static_cast<std::uint32_t>(sequence.size()) - kRows);
  ASSERT_GT(before, 30u);
  for (std::uint32_t i = 0; i + 2 < before; ++i) EXPECT_EQ(page(1, slot, i), serve::kNoPage);
  end(slot);
  EXPECT_EQ(table_->used_pages(), 0u);
}

TEST_F(SlidingSlots, ABatchSlidesEachSlotToItsOwnFirstRow) {
  constexpr std::uint32_t one = 0, other = 1;
  for (const std::uint32_t slot : {one, other}) begin(slot, 600);
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
  constexpr std::uint32_t slot = 0;
  begin(slot, 600);
  std::vector<float> sequence;
  for (int i = 0; i < 17; ++i) step(slot, sequence, kRows - 1, static_cast<float>(i * 1000));
  const auto positions = static_cast<std::uint32_t>(sequence.size());
  ASSERT_NE(positions % kPageTokens, 0u);
  std::vector<std::byte> bytes(table_->bytes_of(SlotPart::all, positions));
  const std::uint64_t page_bytes = plan_.states[0].size_bytes;
  const std::uint32_t all = pages_for(positions);
  EXPECT_EQ(bytes.size(), (all + (all - first_page(20, positions)) + 1) * page_bytes) << "no page that no row sees";
  ASSERT_TRUE(table_->save(SlotPart::all, slot, positions, bytes));
  // What the window has left is nobody's to save.
  std::vector<std::byte> late(table_->bytes_of(SlotPart::all, positions - 60));
  EXPECT_EQ(table_->save(SlotPart::all, slot, positions - 60, late).error().code(), Errc::invalid_state);
  end(slot);

  constexpr std::uint32_t first = 0, second = 1;
  begin(first, 600);
  begin(second, 600);
  ASSERT_TRUE(table_->restore(SlotPart::all, second, positions, bytes));
  expect_seen(second, sequence, positions);
  for (int i = 0; i < 5; ++i) step(second, sequence, kRows, static_cast<float>(i));
}

/// Requests that come, read, generate, are saved, brought back and dropped at any moment always find what they
/// see, never have more than their groups' pages, and leave every page free.
TEST_F(SlidingSlots, WhateverHappensRowsFindWhatTheySee) {
  test::TinyRandom random(5);
  std::array<std::vector<float>, kSlots> sequences;
  std::array<bool, kSlots> live{};
  std::vector<float> saved_sequence;
  std::vector<std::byte> saved;
  float value = 1.0f;
  std::size_t restores = 0, longest = 0;
  for (int i = 0; i < 8000; ++i) {
    const std::uint32_t slot = random.below(kSlots);
    std::vector<float>& sequence = sequences[slot];
    switch (random.below(16)) {
      case 0:
        if (live[slot]) break;
        begin(slot, kPagesPerSlot * kPageTokens);
        live[slot] = true;
        sequence.clear();
        break;
      case 1:
        if (live[slot] && random.below(4) == 0) {
          end(slot);
          live[slot] = false;
        }
        break;
      case 2:
        if (!live[slot]) break;
        saved_sequence = sequence;
        saved.resize(table_->bytes_of(SlotPart::all, static_cast<std::uint32_t>(sequence.size())));
        ASSERT_TRUE(table_->save(SlotPart::all, slot, static_cast<std::uint32_t>(sequence.size()), saved));
        break;
      case 3: {
        if (saved.empty() || live[slot]) break;
        begin(slot, kPagesPerSlot * kPageTokens);
        const auto restored =
            table_->restore(SlotPart::all, slot, static_cast<std::uint32_t>(saved_sequence.size()), saved);
        ASSERT_TRUE(restored) << restored.error().text();
        live[slot] = true;
        sequence = saved_sequence;
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
  EXPECT_GT(restores, 20u);
  EXPECT_GT(longest, 500u);
  for (std::uint32_t s = 0; s < kSlots; ++s)
    if (live[s]) end(s);
  EXPECT_EQ(table_->used_pages(), 0u);
}

}  // namespace
}  // namespace sliding_slots_test
