// SPDX-License-Identifier: Apache-2.0
// tests/unit/cache_groups.cpp: windows and pages of cache groups.
#include <zrt/exec/cache_groups.hpp>
#include <zrt/ops/flash_attn_batched.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cache_groups_test {
namespace {

using namespace zrt;

StateDescriptor paged(std::uint8_t id, std::uint8_t group, std::uint32_t window) {
  return {.id = id,
          .lifecycle = StateLifecycle::kv_paged,
          .info = {StateLifecycle::kv_paged, DType::f16, group, 0, {1, 4, 4, window}}};
}

TEST(CacheGroups, AStepTouchesAtMostThePagesThatItsGroupHas) {
  for (const std::uint32_t window : {1u, 2u, 15u, 16u, 17u, 40u, 64u})
    for (const std::uint32_t rows : {1u, 2u, 16u, 17u, 33u}) {
      std::uint32_t most = 0;
      for (std::uint32_t begin = 0; begin < 200; ++begin)
        most = std::max(most, (begin + rows - 1) / kPageTokens + 1 - first_page(window, begin));
      EXPECT_EQ(exec::pages_of_step(window, rows), most) << window << " positions, " << rows << " rows";
    }
}

TEST(CacheGroups, ThePageThatTheFirstRowSeesIsTheFirst) {
  EXPECT_EQ(first_page(0, 1000), 0u) << "no window";
  for (std::uint32_t window = 1; window < 40; ++window)
    for (std::uint32_t position = 0; position < 100; ++position)
      EXPECT_EQ(first_page(window, position), (position + 1 - std::min(window, position + 1)) / kPageTokens);
  EXPECT_EQ(first_page(~0u, ~0u), 0u);
}

TEST(CacheGroups, AWindowOfAChunksLengthKeepsWhatTheChunkShows) {
  for (std::uint32_t chunk = 1; chunk < 70; ++chunk)
    for (std::uint32_t position = 0; position < 300; ++position) {
      const ops::FlashAttnBatchedParams p{.chunk = chunk};
      EXPECT_EQ(p.first_visible(position) / chunk, position / chunk) << "not in the chunk of " << position;
      EXPECT_EQ(p.first_visible(position) % chunk, 0u);
      EXPECT_LE(first_page(p.most_visible(), position), p.first_visible(position) / kPageTokens);
    }
}

TEST(CacheGroups, AGroupWithAWindowHasWhatItsSlotsCanUse) {
  const std::vector<StateDescriptor> states{paged(0, 0, 0),
                                            paged(1, 1, 20),
                                            paged(2, 1, 20),
                                            paged(3, 3, 4000),
                                            {.id = 4, .lifecycle = StateLifecycle::recurrent}};
  const exec::ExecutorSizes sizes{.slots = 3, .prefill_tokens = 16, .pages = 192, .pages_per_slot = 64};
  const auto groups = exec::cache_groups(states, sizes, system_allocator());
  ASSERT_TRUE(groups) << groups.error().text();
  ASSERT_EQ(groups->size(), 4u);
  EXPECT_EQ((*groups)[0].slot_pages, 64u);
  EXPECT_EQ((*groups)[0].pages, 192u);
  EXPECT_EQ((*groups)[1].window, 20u);
  EXPECT_EQ((*groups)[1].slot_pages, exec::pages_of_step(20, 16));
  EXPECT_EQ((*groups)[1].pages, 3 * exec::pages_of_step(20, 16));
  EXPECT_EQ((*groups)[2].slot_pages, 0u) << "no state has the number";
  EXPECT_EQ((*groups)[3].slot_pages, 64u) << "a window that no slot outgrows";
  EXPECT_EQ((*groups)[3].pages, 192u);
  EXPECT_TRUE(exec::cache_groups(std::span(states).last(1), sizes, system_allocator())->empty());
}

TEST(CacheGroups, AGroupHasOneWindow) {
  const std::vector<StateDescriptor> states{paged(0, 1, 8), paged(1, 1, 0)};
  const auto groups = exec::cache_groups(states, {.pages_per_slot = 4}, system_allocator());
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().code(), Errc::invalid_state);
  EXPECT_EQ(groups.error().text(),
            "state 1 of cache group 1 has a window of 0, expected 8, which others of its group have");
}

}  // namespace
}  // namespace cache_groups_test
