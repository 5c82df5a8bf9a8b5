// SPDX-License-Identifier: Apache-2.0
// zrt/serve/page_list.hpp: the pages of one slot in one cache group, which may slide with a window.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/serve/page_pool.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// No page's id: what a list holds where a slot has no page.
inline constexpr std::uint32_t kNoPage = ~std::uint32_t{0};

/// The pages of positions from `first` * 16 to `end` * 16. Their ids stand in a step's lists, by index.
///
/// A list grows up to `limit`, which the slot has reserved, but never holds more than `most` pages: where it slides, a
/// page that goes back at the front makes room for one at the end.
struct PageList {
  std::uint32_t first = 0;
  std::uint32_t end = 0;
  std::uint32_t limit = 0;

  [[nodiscard]] std::uint32_t size() const noexcept { return end - first; }
  [[nodiscard]] bool holds(std::uint32_t from, std::uint32_t to) const noexcept {
    return from >= to || (from >= first && to <= end);
  }
  /// Pages that it lacks.
  [[nodiscard]] std::uint32_t wanted(std::uint32_t most) const noexcept {
    const std::uint32_t to = limit - first < most ? limit : first + most;
    return to > end ? to - end : 0;
  }

  /// Takes the pages that it lacks; the caller has looked at the pool.
  void grow(std::uint32_t most, PagePool& pool, Span<std::uint32_t> ids) noexcept {
    for (std::uint32_t left = wanted(most); left > 0; --left) ids[end++] = pool.take();
  }
  /// Gives back the pages before page `keep`.
  void drop_before(std::uint32_t keep, PagePool& pool, Span<std::uint32_t> ids) noexcept {
    for (; first < keep && first < end; ++first) {
      pool.drop(ids[first]);
      ids[first] = kNoPage;
    }
    // It has come to pages that it never had.
    if (first < keep) first = end = keep;
    if (limit < first) limit = first;
  }
  /// Becomes empty.
  void clear(PagePool& pool, Span<std::uint32_t> ids) noexcept {
    drop_before(end, pool, ids);
    *this = {};
  }
};

}  // namespace zrt::inline ZRT_ABI::serve
