// SPDX-License-Identifier: Apache-2.0
// zrt/exec/check_pages.hpp: a batch's page ids, checked before a step writes and reads through them.
#pragma once

#include <zrt/exec/batch.hpp>
#include <zrt/exec/cache_groups.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Checks that every page that a step touches exists, and that a page that the step writes belongs to one slot.
///
/// Slots may read the same page, as forked sequences do; none may write what another reads or writes. Each call looks at
/// the pages from a group's window up to the positions of the batch, a few nanoseconds per page, and allocates nothing.
class PageCheck {
 public:
  [[nodiscard]] static Result<PageCheck> make(Vector<CacheGroup> groups, std::uint32_t slots,
                                              std::uint32_t pages_per_slot, const Allocator& allocator) noexcept {
    PageCheck check(std::move(groups), allocator);
    check.slots_ = slots;
    check.pages_per_slot_ = pages_per_slot;
    std::size_t pages = 0;
    for (const CacheGroup& group : check.groups_) pages += group.pages;
    if (auto r = check.writers_.resize(pages); !r) return pass(r);
    return check;
  }

  [[nodiscard]] Span<const CacheGroup> groups() const noexcept { return groups_.span(); }

  /// Slots and positions of `batch` are within the sizes.
  ///
  /// Errors: Errc::invalid_argument for no page ids or one that no page has, Errc::overlapping_writers for a page that
  /// one slot writes and another slot, or another place of this one, reads or writes.
  [[nodiscard]] Result<void> operator()(const Batch& batch) noexcept {
    if (groups_.empty() || batch.tokens.empty()) return {};
    if (batch.pages == nullptr)
      return fail(Errc::invalid_argument, "the batch has no page ids, expected those of ", slots_, " slots");
    ++step_;
    Writer* writers = writers_.data();
    for (std::uint32_t group = 0; group < groups_.size(); ++group) {
      // A number that no state has names no pages.
      if (groups_[group].slot_pages == 0) continue;
      if (auto r = check(batch, {group, writers}); !r) return r;
      writers += groups_[group].pages;
    }
    return {};
  }

 private:
  /// An entry of a slot's page list.
  struct Place {
    std::uint32_t slot = 0;
    std::uint32_t index = 0;
    friend constexpr bool operator==(Place, Place) = default;
  };
  /// Who writes a page in the step of that number.
  struct Writer {
    std::uint64_t step = 0;
    Place place{};
  };

  /// A group with the writers of its pages.
  struct Group {
    std::uint32_t number = 0;
    Writer* writers = nullptr;
  };

  PageCheck(Vector<CacheGroup> groups, const Allocator& a) noexcept : groups_(std::move(groups)), writers_(a) {}

  [[nodiscard]] Result<void> check(const Batch& batch, const Group& group) const noexcept {
    for (std::size_t t = 0; t < batch.tokens.size(); ++t) {
      const Place place{batch.slots[t], batch.positions[t] / kPageTokens};
      if (t > 0 && batch.slots[t - 1] == place.slot && batch.positions[t - 1] / kPageTokens == place.index) continue;
      if (auto r = write(batch.pages, group, place); !r) return r;
    }
    std::size_t first = 0;  // row of those of a slot
    for (std::size_t t = 0; t < batch.tokens.size(); ++t) {
      // Rows of a slot are in position order, so its first and its last one read all pages that the others read.
      if (t + 1 < batch.tokens.size() && batch.slots[t + 1] == batch.slots[t]) continue;
      std::uint32_t index = first_page(groups_[group.number].window, batch.positions[first]);
      for (; index <= batch.positions[t] / kPageTokens; ++index)
        if (auto r = read(batch.pages, group, {batch.slots[t], index}); !r) return r;
      first = t + 1;
    }
    return {};
  }

  [[nodiscard]] std::uint32_t page(const std::uint32_t* pages, const Group& group, Place at) const noexcept {
    return pages[(std::uint64_t{group.number} * slots_ + at.slot) * pages_per_slot_ + at.index];
  }

  [[nodiscard]] Result<void> write(const std::uint32_t* pages, const Group& group, Place at) const noexcept {
    const std::uint32_t id = page(pages, group, at);
    if (id >= groups_[group.number].pages) return no_such_page(id, group, at);
    Writer& writer = group.writers[id];
    if (writer.step == step_ && writer.place != at) return clash(id, group, writer.place, at, "writes");
    writer = {step_, at};
    return {};
  }

  [[nodiscard]] Result<void> read(const std::uint32_t* pages, const Group& group, Place at) const noexcept {
    const std::uint32_t id = page(pages, group, at);
    if (id >= groups_[group.number].pages) return no_such_page(id, group, at);
    const Writer& writer = group.writers[id];
    return writer.step == step_ && writer.place != at ? clash(id, group, writer.place, at, "reads") : Result<void>();
  }

  [[nodiscard]] Result<void> no_such_page(std::uint32_t id, const Group& group, Place at) const noexcept {
    return fail(Errc::invalid_argument, "page ", at.index, " of slot ", at.slot, " in cache group ", group.number,
                " is ", id, ", expected an id below ", groups_[group.number].pages);
  }
  [[nodiscard]] static Result<void> clash(std::uint32_t id, const Group& group, Place writer, Place other,
                                          std::string_view does) noexcept {
    return fail(Errc::overlapping_writers, "page id ", id, " of cache group ", group.number, " is page ", writer.index,
                " of slot ", writer.slot, ", which writes it; slot ", other.slot, " ", does, " it as page ",
                other.index);
  }

  Vector<CacheGroup> groups_;
  std::uint32_t slots_ = 0;
  std::uint32_t pages_per_slot_ = 0;
  std::uint64_t step_ = 0;
  Vector<Writer> writers_;  ///< of each group's pages
};

}  // namespace zrt::inline ZRT_ABI::exec
