// SPDX-License-Identifier: Apache-2.0
// tests/pm4/target.cpp: the targets are found by each of their names.
// test-set: smoke
#include <zrt/backend/pm4/target.hpp>

#include <gtest/gtest.h>

namespace target_test {
namespace {

using namespace zrt::pm4;

TEST(Target, IsFoundByEachOfItsNames) {
  for (const TargetFacts& target : kTargets) {
    EXPECT_EQ(find_target(target.name), &target);
    EXPECT_EQ(find_target(target.file_number), &target);
    EXPECT_EQ(find_elf_target(target.elf_machine), &target);
  }
  EXPECT_EQ(find_target("gfx1030"), nullptr);
  EXPECT_EQ(find_target(std::uint16_t{0xff}), nullptr);
  EXPECT_EQ(find_elf_target(0x36), nullptr);
}

}  // namespace
}  // namespace target_test
