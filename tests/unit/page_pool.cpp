// SPDX-License-Identifier: Apache-2.0
// tests/unit/page_pool.cpp: pages are handed out once, and come back.
#include <zrt/serve/page_pool.hpp>

#include <gtest/gtest.h>

#include <set>

namespace page_pool_test {
namespace {

using zrt::serve::PagePool;

TEST(PagePool, HandsOutEveryPageOnce) {
  auto pool = PagePool::make(100, zrt::system_allocator());
  ASSERT_TRUE(pool);
  std::set<std::uint32_t> pages;
  while (pool->available() != 0) pages.insert(pool->take());
  EXPECT_EQ(pages.size(), 100u);
  EXPECT_EQ(*pages.begin(), 0u);
  EXPECT_EQ(*pages.rbegin(), 99u);
  for (std::uint32_t page : pages) pool->drop(page);
  EXPECT_EQ(pool->available(), 100u);
}

TEST(PagePool, FailureToAllocateIsAnError) {
  zrt::Allocator none = zrt::system_allocator();
  none.allocate = [](void*, std::size_t, std::size_t) noexcept -> void* { return nullptr; };
  const auto pool = PagePool::make(4, none);
  ASSERT_FALSE(pool);
  EXPECT_EQ(pool.error().code(), zrt::Errc::out_of_memory);
}

}  // namespace
}  // namespace page_pool_test
