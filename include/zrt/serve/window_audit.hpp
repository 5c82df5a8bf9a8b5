// SPDX-License-Identifier: Apache-2.0
// zrt/serve/window_audit.hpp: proves that the pages of a cache group with a window are each in one list, or free.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/serve/page_list.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// The pages of one cache group, as a slot table has them.
struct WindowPages {
  const PagePool* pool = nullptr;
  Span<const PageList> lists{};            ///< by slot
  Span<const std::uint32_t> ids{};         ///< [slots][pages_per_slot]
  Span<const std::uint32_t> first_seen{};  ///< by slot: the first page that a row to come sees
  std::uint32_t pages_per_slot = 0;
};

/// Checks that a page goes back exactly once, when no row to come sees it: none is lost, listed twice, or both free and
/// listed. It takes a time that grows with pages, so that a host runs it in debug builds.
class WindowAudit {
 public:
  explicit WindowAudit(const Allocator& allocator) noexcept : seen_(allocator) {}

  [[nodiscard]] Result<void> reserve(std::size_t pages) noexcept { return seen_.resize(pages); }

  [[nodiscard]] Result<void> run(const WindowPages& g) noexcept {
    std::size_t found = 0;
    for (std::uint8_t& s : seen_) s = 0;
    for (const std::uint32_t page : g.pool->free_pages())
      if (auto r = see(page, g, found); !r) return r;
    for (std::size_t slot = 0; slot < g.lists.size(); ++slot) {
      const PageList& list = g.lists[slot];
      if (list.first < g.first_seen[slot] && list.first != list.end)
        return fail(Errc::invalid_state, "slot ", slot, " keeps page ", list.first, ", no row sees one before ",
                    g.first_seen[slot]);
      for (std::uint32_t i = 0; i < g.pages_per_slot; ++i) {
        const std::uint32_t page = g.ids[slot * g.pages_per_slot + i];
        const bool listed = i >= list.first && i < list.end;
        if (listed != (page != kNoPage))
          return fail(Errc::invalid_state, "slot ", slot, listed ? " lacks" : " names", " page ", i);
        if (!listed) continue;
        if (auto r = see(page, g, found); !r) return r;
      }
    }
    if (found == g.pool->size()) return {};
    return fail(Errc::invalid_state, "free and listed pages are ", found, " of ", g.pool->size());
  }

 private:
  [[nodiscard]] Result<void> see(std::uint32_t page, const WindowPages& g, std::size_t& found) noexcept {
    if (page >= g.pool->size() || seen_[page] != 0)
      return fail(Errc::invalid_state, "page ", page, " of a window is in two places, or is none");
    seen_[page] = 1;
    ++found;
    return {};
  }

  Vector<std::uint8_t> seen_;
};

}  // namespace zrt::inline ZRT_ABI::serve
