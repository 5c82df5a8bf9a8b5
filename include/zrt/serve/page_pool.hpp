// SPDX-License-Identifier: Apache-2.0
// zrt/serve/page_pool.hpp: page ids with reference counts.
#pragma once

#include <zrt/core/vector.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Hands out the pages of one cache group. A page may be shared by several slots.
class PagePool {
 public:
  explicit PagePool(Allocator allocator) noexcept : free_(allocator), references_(allocator) {}

  [[nodiscard]] static Result<PagePool> make(std::uint32_t pages, const Allocator& allocator) noexcept {
    PagePool pool(allocator);
    if (auto r = pool.references_.resize(pages); !r) return pass(r);
    if (auto r = pool.free_.reserve(pages); !r) return pass(r);
    for (std::uint32_t page = pages; page-- > 0;)
      if (auto r = pool.free_.push_back(page); !r) return pass(r);
    return pool;
  }

  /// Takes a free page; the caller has looked at available().
  [[nodiscard]] std::uint32_t take() noexcept {
    const std::uint32_t page = free_.back();
    free_.pop_back();
    references_[page] = 1;
    return page;
  }
  void share(std::uint32_t page) noexcept { ++references_[page]; }
  /// Gives one reference back. The list of free pages never grows past its first reservation.
  void drop(std::uint32_t page) noexcept {
    if (--references_[page] == 0) (void)free_.push_back(page);
  }
  [[nodiscard]] std::size_t available() const noexcept { return free_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return references_.size(); }

 private:
  Vector<std::uint32_t> free_;
  Vector<std::uint32_t> references_;
};

}  // namespace zrt::inline ZRT_ABI::serve
