// SPDX-License-Identifier: Apache-2.0
// tests/unit/shared_pages.cpp: a page that nobody holds, or that is none, is not released, shared or evicted, but counted.
#include <zrt/serve/shared_pages.hpp>

#include <gtest/gtest.h>

namespace shared_pages_test {
namespace {

using zrt::serve::kNone;
using zrt::serve::SharedPages;

class SharedPageMisuse : public testing::Test {
 protected:
  SharedPages pages_ = std::move(*SharedPages::make(4, zrt::system_allocator()));
  std::uint32_t page_ = pages_.take({}, 0);
};

TEST_F(SharedPageMisuse, NoneOfItIsUndefined) {
  std::uint32_t misuses = 0;
  const auto counted = [&] { return pages_.misuses() == ++misuses; };
  pages_.release(page_, false);
  EXPECT_EQ(pages_.misuses(), 0u);
  pages_.release(page_, false);
  EXPECT_TRUE(counted()) << "released twice";
  pages_.share(page_);
  EXPECT_TRUE(counted()) << "a free page is shared";
  pages_.evict(page_);
  EXPECT_TRUE(counted()) << "a page that is not cached is evicted";
  for (const std::uint32_t none : {std::uint32_t{4}, kNone}) {
    pages_.release(none, false);
    EXPECT_TRUE(counted());
    pages_.share(none);
    EXPECT_TRUE(counted());
    pages_.evict(none);
    EXPECT_TRUE(counted());
  }
  EXPECT_EQ(pages_.free_pages().size(), 4u);
}

TEST_F(SharedPageMisuse, ACachedPageMayBeSharedAgainAndEvicted) {
  pages_.release(page_, true);
  pages_.share(page_);
  pages_.release(page_, true);
  EXPECT_EQ(pages_.cached(), 1u);
  pages_.evict(page_);
  EXPECT_EQ(pages_.misuses(), 0u);
  EXPECT_EQ(pages_.free_pages().size(), 4u);
}

}  // namespace
}  // namespace shared_pages_test
