// SPDX-License-Identifier: Apache-2.0
// zrt/serve/shared_pages.hpp: pages with reference counts, free ones and cached ones.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/serve/handle.hpp>
#include <zrt/serve/page_meta.hpp>
#include <zrt/serve/page_times.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Hands out pages. A page is free, listed by slots, or cached: in the prefix tree and listed by nobody.
///
/// Cached pages stand in a list by the time of their release. Slots release their last page first, and whoever lists a
/// page lists those before it, so that the head of the list is always a leaf of the tree.
class SharedPages {
 public:
  [[nodiscard]] static Result<SharedPages> make(std::uint32_t pages, const Allocator& allocator) noexcept {
    SharedPages p(allocator);
    if (auto r = p.meta_.resize(pages); !r) return pass(r);
    if (auto r = p.links_.resize(pages); !r) return pass(r);
    if (auto r = p.used_.resize(pages); !r) return pass(r);
    if (auto r = p.free_.reserve(pages); !r) return pass(r);
    for (std::uint32_t page = pages; page-- > 0;)
      if (auto r = p.free_.push_back(page); !r) return pass(r);
    return p;
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(meta_.size()); }
  [[nodiscard]] Span<const PageMeta> meta() const noexcept { return meta_.span(); }
  [[nodiscard]] Span<const std::uint32_t> free_pages() const noexcept { return free_.span(); }
  [[nodiscard]] std::uint32_t cached() const noexcept { return cached_; }
  /// Releases, shares and evictions of pages that were not to be had: always 0, as audits check.
  [[nodiscard]] std::uint32_t misuses() const noexcept { return misuses_; }
  /// Cached pages that were forgotten.
  [[nodiscard]] std::uint64_t evictions() const noexcept { return evictions_; }

  /// Takes a free page for a slot; kNone when there is none.
  [[nodiscard]] std::uint32_t take(PrefixScope scope, std::uint32_t slot) noexcept {
    if (free_.empty()) return kNone;
    const std::uint32_t page = free_.back();
    free_.pop_back();
    meta_[page] = {scope, 1, slot, 0, 0};
    used_[page] = {now_, now_};
    return page;
  }
  /// One more slot lists a page of the tree.
  void share(std::uint32_t page) noexcept {
    const bool had = page < meta_.size() && (meta_[page].references != 0 || links_[page].cached);
    if (!had || meta_[page].references == ~std::uint32_t{0}) {
      ++misuses_;
      return;
    }
    if (meta_[page].references++ == 0) unlink(page);
    if (is_timed(page)) times_.reuse_gap.add(now_ - used_[page].last);
    used_[page].last = now_;
  }
  /// A slot lists the page no longer. `in_tree` keeps it as a cached one.
  void release(std::uint32_t page, bool in_tree) noexcept {
    if (page >= meta_.size() || meta_[page].references == 0) {
      ++misuses_;
      return;
    }
    if (--meta_[page].references != 0) return;
    used_[page].last = now_;
    if (in_tree)
      append(page);
    else
      free(page);
  }
  /// The tree has let go of a cached page.
  void evict(std::uint32_t page) noexcept {
    if (page >= meta_.size() || !links_[page].cached) {
      ++misuses_;
      return;
    }
    if (is_timed(page)) {
      times_.lifetime.add(now_ - used_[page].first);
      times_.idle.add(now_ - used_[page].last);
    }
    ++evictions_;
    unlink(page);
    free(page);
  }
  /// Nobody writes the page any more.
  void seal(std::uint32_t page) noexcept { meta_[page].owner_slot = kNone; }
  void fill(std::uint32_t page, std::uint32_t tokens) noexcept { meta_[page].tokens = tokens; }

  /// The cached page that was released first, and the one released after `page`; kNone behind the last.
  [[nodiscard]] std::uint32_t oldest() const noexcept { return oldest_; }
  [[nodiscard]] std::uint32_t after(std::uint32_t page) const noexcept { return links_[page].next; }
  /// The same from the other end.
  [[nodiscard]] std::uint32_t newest() const noexcept { return newest_; }
  [[nodiscard]] std::uint32_t before(std::uint32_t page) const noexcept { return links_[page].previous; }
  /// How many releases into the cache came before this page's; grows along the list.
  [[nodiscard]] std::uint64_t released(std::uint32_t page) const noexcept { return links_[page].released; }
  [[nodiscard]] bool is_cached(std::uint32_t page) const noexcept { return links_[page].cached; }

  /// Says what time it is, in nanoseconds from 1 on that do not go back. Without it no times are counted.
  void pass_time(std::uint64_t now) noexcept { now_ = now > now_ ? now : now_; }
  [[nodiscard]] const PageTimes& times() const noexcept { return times_; }

 private:
  struct Links {
    std::uint32_t previous = kNone;
    std::uint32_t next = kNone;
    std::uint64_t released = 0;
    bool cached = false;
  };

  /// When a page was taken and when it was used last; 0: before time was counted.
  struct Used {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
  };

  explicit SharedPages(const Allocator& a) noexcept : meta_(a), links_(a), used_(a), free_(a) {}

  [[nodiscard]] bool is_timed(std::uint32_t page) const noexcept { return used_[page].first != 0; }

  // The list of free pages never grows past its first reservation.
  void free(std::uint32_t page) noexcept {
    meta_[page] = {};
    (void)free_.push_back(page);
  }
  void append(std::uint32_t page) noexcept {
    links_[page] = {newest_, kNone, ++releases_, true};
    (newest_ == kNone ? oldest_ : links_[newest_].next) = page;
    newest_ = page;
    ++cached_;
  }
  void unlink(std::uint32_t page) noexcept {
    const Links l = links_[page];
    (l.previous == kNone ? oldest_ : links_[l.previous].next) = l.next;
    (l.next == kNone ? newest_ : links_[l.next].previous) = l.previous;
    links_[page] = {};
    --cached_;
  }

  Vector<PageMeta> meta_;
  Vector<Links> links_;
  Vector<Used> used_;
  Vector<std::uint32_t> free_;
  std::uint32_t oldest_ = kNone;
  std::uint32_t newest_ = kNone;
  std::uint32_t cached_ = 0;
  std::uint32_t misuses_ = 0;
  std::uint64_t releases_ = 0;
  std::uint64_t evictions_ = 0;
  std::uint64_t now_ = 0;
  PageTimes times_{};
};

}  // namespace zrt::inline ZRT_ABI::serve
