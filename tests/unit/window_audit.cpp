// SPDX-License-Identifier: Apache-2.0
// tests/unit/window_audit.cpp: an audit of pages behind windows finds each page that is lost, kept, given back twice or listed twice.
#include <zrt/serve/window_audit.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace window_audit_test {
namespace {

using namespace zrt;
using serve::kNoPage;
using serve::PageList;
using serve::PagePool;

constexpr std::uint32_t kSlots = 2, kPagesPerSlot = 6, kPages = 8, kMost = 3;

class WindowAudits : public testing::Test {
 protected:
  void SetUp() override {
    ids_.fill(kNoPage);
    ASSERT_TRUE(audit_.reserve(kPages));
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      lists_[slot].limit = kPagesPerSlot;
      lists_[slot].grow(kMost, pool_, of(slot));
    }
    slide(0, 2);
  }
  [[nodiscard]] Span<std::uint32_t> of(std::uint32_t slot) {
    return Span<std::uint32_t>(ids_).subspan(std::size_t{slot} * kPagesPerSlot, kPagesPerSlot);
  }
  void slide(std::uint32_t slot, std::uint32_t first) {
    lists_[slot].drop_before(first, pool_, of(slot));
    lists_[slot].grow(kMost, pool_, of(slot));
    seen_[slot] = first;
  }
  [[nodiscard]] bool holds() { return audit_.run({&pool_, lists_, ids_, seen_, kPagesPerSlot}).has_value(); }

  PagePool pool_ = std::move(*PagePool::make(kPages, system_allocator()));
  serve::WindowAudit audit_{system_allocator()};
  std::array<PageList, kSlots> lists_{};
  std::array<std::uint32_t, std::size_t{kSlots} * kPagesPerSlot> ids_{};
  std::array<std::uint32_t, kSlots> seen_{};
};

TEST_F(WindowAudits, HoldsWhileWindowsSlide) {
  EXPECT_TRUE(holds());
  for (std::uint32_t first = 1; first < kPagesPerSlot; ++first) {
    slide(1, first);
    EXPECT_TRUE(holds()) << first;
  }
  for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
    lists_[slot].clear(pool_, of(slot));
    seen_[slot] = 0;
  }
  EXPECT_TRUE(holds());
  EXPECT_EQ(pool_.available(), kPages);
}
TEST_F(WindowAudits, FindsAPageThatGoesBackTwice) {
  pool_.drop(pool_.free_pages()[0]);
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsAPageThatGoesBackAndIsListed) {
  pool_.drop(of(0)[2]);
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsALostPage) {
  (void)pool_.take();
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsAPageThatNoRowSees) {
  seen_[0] = 3;
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsAPageInTwoLists) {
  of(1)[0] = of(0)[2];
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsAPageThatIsNone) {
  of(0)[2] = kPages;
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsANameThatStaysBehind) {
  of(0)[0] = pool_.free_pages()[0];
  EXPECT_FALSE(holds());
}
TEST_F(WindowAudits, FindsAHole) {
  pool_.drop(of(0)[3]);
  of(0)[3] = kNoPage;
  EXPECT_FALSE(holds());
}

}  // namespace
}  // namespace window_audit_test
