// SPDX-License-Identifier: Apache-2.0
// zrt/serve/page_pool.hpp: the page ids that no slot has.
#pragma once

#include <zrt/core/vector.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Hands out the pages of one cache group.
class PagePool {
 public:
  explicit PagePool(Allocator allocator) noexcept : free_(allocator) {}

  [[nodiscard]] static Result<PagePool> make(std::uint32_t pages, const Allocator& allocator) noexcept {
    PagePool pool(allocator);
    pool.size_ = pages;
    if (auto r = pool.free_.reserve(pages); !r) return pass(r);
    for (std::uint32_t page = pages; page-- > 0;)
      if (auto r = pool.free_.push_back(page); !r) return pass(r);
    return pool;
  }

  /// Takes a free page; the caller has looked at available().
  [[nodiscard]] std::uint32_t take() noexcept {
    const std::uint32_t page = free_.back();
    free_.pop_back();
    return page;
  }
  /// Gives a page back. The list of free pages never grows past its first reservation.
  void drop(std::uint32_t page) noexcept { (void)free_.push_back(page); }
  [[nodiscard]] std::size_t available() const noexcept { return free_.size(); }
  [[nodiscard]] Span<const std::uint32_t> free_pages() const noexcept { return free_.span(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  Vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::serve
