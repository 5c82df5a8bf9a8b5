// SPDX-License-Identifier: Apache-2.0
// tests/unit/check_runs.cpp: recurrent state asks for one range of consecutive positions of each slot.
#include <zrt/exec/executor.hpp>
#include <zrt/exec/host_device.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace check_runs_test {
namespace {

using namespace zrt;

Result<void> check(StateLifecycle lifecycle, std::initializer_list<std::array<std::uint32_t, 2>> rows) {
  StateDescriptor state;
  state.lifecycle = lifecycle;
  auto check = exec::RunCheck::make({&state, 1}, 3, system_allocator());
  EXPECT_TRUE(check);
  std::vector<std::uint32_t> slots, positions;
  for (const auto& [slot, position] : rows) {
    slots.push_back(slot);
    positions.push_back(position);
  }
  exec::Batch batch;
  batch.tokens = batch.slots = slots;
  batch.positions = positions;
  // A step knows nothing of the one before.
  EXPECT_EQ((*check)(batch).has_value(), (*check)(batch).has_value());
  return (*check)(batch);
}

void refused(std::initializer_list<std::array<std::uint32_t, 2>> rows, std::string_view text) {
  const auto r = check(StateLifecycle::recurrent, rows);
  ASSERT_FALSE(r) << text;
  EXPECT_EQ(r.error().code(), Errc::invalid_argument);
  EXPECT_EQ(r.error().text(), text);
  EXPECT_TRUE(check(StateLifecycle::kv_paged, rows)) << "pages are named by position";
}

TEST(CheckRuns, OneRangeOfEachSlotInPositionOrder) {
  EXPECT_TRUE(check(StateLifecycle::recurrent, {}));
  EXPECT_TRUE(check(StateLifecycle::recurrent, {{1, 5}, {1, 6}, {1, 7}, {0, 0}, {2, 9}, {2, 10}}));
  refused({{0, 0}, {1, 0}, {0, 1}},
          "row 2 begins a second range of rows of slot 0, which has recurrent state; expected one range");
  refused({{0, 1}, {0, 0}}, "row 1 is position 0 of slot 0, which has recurrent state; expected position 2");
  refused({{2, 1}, {2, 1}}, "row 1 is position 1 of slot 2, which has recurrent state; expected position 2");
  refused({{2, 1}, {2, 3}}, "row 1 is position 3 of slot 2, which has recurrent state; expected position 2");
}

}  // namespace
}  // namespace check_runs_test
