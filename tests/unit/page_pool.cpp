// SPDX-License-Identifier: Apache-2.0
// tests/unit/page_pool.cpp: pages are handed out once, shared, and come back with their last owner.
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

TEST(PagePool, ASharedPageComesBackWithItsLastOwner) {
  auto pool = PagePool::make(2, zrt::system_allocator());
  ASSERT_TRUE(pool);
  const std::uint32_t page = pool->take();
  pool->share(page);
  pool->share(page);
  pool->drop(page);
  pool->drop(page);
  EXPECT_EQ(pool->available(), 1u);
  EXPECT_NE(pool->take(), page);
  pool->drop(page);
  EXPECT_EQ(pool->available(), 1u);
  EXPECT_EQ(pool->take(), page);
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
