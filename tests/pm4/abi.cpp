// SPDX-License-Identifier: Apache-2.0
// tests/pm4/abi.cpp: the kernel's calls have names and numbers of their own; sizes of a queue's buffers.
// test-set: smoke
#include <zrt/backend/pm4/kfd/abi.hpp>
#include <zrt/backend/pm4/kfd/queue_sizes.hpp>
#include <zrt/backend/pm4/umq/abi.hpp>

#include <gtest/gtest.h>

#include <span>

namespace abi_test {
namespace {

using namespace zrt::pm4;

void in_order(std::span<const IoctlCall> calls) {
  for (std::size_t i = 1; i < calls.size(); ++i)
    EXPECT_LT(ioctl_number(calls[i - 1].request), ioctl_number(calls[i].request)) << calls[i].name;
}

TEST(Abi, CallsAreListedByNumber) {
  in_order(kfd::kCalls);
  in_order(umq::kCalls);
  EXPECT_EQ(ioctl_bytes(kfd::kCreateQueue), sizeof(kfd::CreateQueue));
}

TEST(QueueSizes, AreThoseOfTheKernelOrRefused) {
  // What kfd_queue.c computes for the three cards of the facts, and for a part with small register files.
  const struct {
    std::uint32_t units, version, stack, save;
    std::uint64_t mapping;
  } cards[] = {{64, 120001, 0x7000, 0x1d47000, 0x1d57000},
               {32, 120000, 0x4000, 0xea4000, 0xeac000},
               {96, 110000, 0xa000, 0x2bea000, 0x2c02000},
               {40, 110501, 0x4000, 0xd4c000, 0xd56000}};
  for (const auto& card : cards) {
    const auto area =
        kfd::context_save({.simd_count = card.units * 2, .simd_per_cu = 2, .gfx_target_version = card.version});
    ASSERT_TRUE(area);
    EXPECT_EQ(area->ctl_stack_bytes, card.stack) << card.version;
    EXPECT_EQ(area->save_bytes, card.save) << card.version;
    EXPECT_EQ(area->mapping_bytes, card.mapping) << card.version;
  }
  EXPECT_FALSE(kfd::context_save({}));
  EXPECT_FALSE(kfd::context_save({.simd_count = 1, .simd_per_cu = 2, .gfx_target_version = 120001}));
  EXPECT_FALSE(kfd::context_save({.simd_count = 128, .simd_per_cu = 2, .gfx_target_version = 100300}));
  EXPECT_FALSE(kfd::context_save({.simd_count = ~0u, .simd_per_cu = 1, .gfx_target_version = 120001}));
}

}  // namespace
}  // namespace abi_test
