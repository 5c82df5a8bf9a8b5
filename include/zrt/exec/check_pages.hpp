// SPDX-License-Identifier: Apache-2.0
// zrt/exec/check_pages.hpp: a batch's page ids, checked before a step writes and reads through them.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/ops/kv_page.hpp>
#include <zrt/ops/state.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// Checks that every page that a step touches exists, and that a page that the step writes belongs to one slot.
///
/// Slots may read the same page, as forked sequences do; none may write what another reads or writes. Each call looks at
/// the pages up to the positions of the batch, a few nanoseconds per page, and allocates nothing.
class PageCheck {
 public:
  /// For cache groups of `pages` pages each, of which `states` tells the number.
  [[nodiscard]] static Result<PageCheck> make(Span<const StateDescriptor> states, std::uint32_t pages,
                                              std::uint32_t slots, std::uint32_t pages_per_slot,
                                              const Allocator& allocator) noexcept {
    PageCheck check(allocator);
    for (const StateDescriptor& d : states)
      if (d.lifecycle == StateLifecycle::kv_paged && d.info.group + 1u > check.groups_)
        check.groups_ = d.info.group + 1u;
    check.pages_ = pages;
    check.slots_ = slots;
    check.pages_per_slot_ = pages_per_slot;
    if (auto r = check.writers_.resize(std::size_t{check.groups_} * pages); !r) return pass(r);
    return check;
  }

  /// Slots and positions of `batch` are within the sizes.
  ///
  /// Errors: Errc::invalid_argument for no page ids or one that no page has, Errc::overlapping_writers for a page that
  /// one slot writes and another slot, or another place of this one, reads or writes.
  [[nodiscard]] Result<void> operator()(const Batch& batch) noexcept {
    if (groups_ == 0 || batch.tokens.empty()) return {};
    if (batch.pages == nullptr)
      return fail(Errc::invalid_argument, "the batch has no page ids, expected those of ", slots_, " slots");
    ++step_;
    for (std::size_t t = 0; t < batch.tokens.size(); ++t) {
      const Place place{batch.slots[t], batch.positions[t] / kPageTokens};
      if (t > 0 && batch.slots[t - 1] == place.slot && batch.positions[t - 1] / kPageTokens == place.index) continue;
      for (std::uint32_t group = 0; group < groups_; ++group)
        if (auto r = write(batch.pages, group, place); !r) return r;
    }
    for (std::size_t t = 0; t < batch.tokens.size(); ++t) {
      // Rows of a slot are in position order, so its last one reads all pages that the others read.
      if (t + 1 < batch.tokens.size() && batch.slots[t + 1] == batch.slots[t]) continue;
      for (std::uint32_t group = 0; group < groups_; ++group)
        for (std::uint32_t index = 0; index <= batch.positions[t] / kPageTokens; ++index)
          if (auto r = read(batch.pages, group, {batch.slots[t], index}); !r) return r;
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

  explicit PageCheck(const Allocator& a) noexcept : writers_(a) {}

  [[nodiscard]] std::uint32_t page(const std::uint32_t* pages, std::uint32_t group, Place at) const noexcept {
    return pages[(std::uint64_t{group} * slots_ + at.slot) * pages_per_slot_ + at.index];
  }

  [[nodiscard]] Result<void> write(const std::uint32_t* pages, std::uint32_t group, Place at) noexcept {
    const std::uint32_t id = page(pages, group, at);
    if (id >= pages_) return no_such_page(id, group, at);
    Writer& writer = writers_[std::size_t{group} * pages_ + id];
    if (writer.step == step_ && writer.place != at) return clash(id, group, writer.place, at, "writes");
    writer = {step_, at};
    return {};
  }

  [[nodiscard]] Result<void> read(const std::uint32_t* pages, std::uint32_t group, Place at) const noexcept {
    const std::uint32_t id = page(pages, group, at);
    if (id >= pages_) return no_such_page(id, group, at);
    const Writer& writer = writers_[std::size_t{group} * pages_ + id];
    return writer.step == step_ && writer.place != at ? clash(id, group, writer.place, at, "reads") : Result<void>();
  }

  [[nodiscard]] Result<void> no_such_page(std::uint32_t id, std::uint32_t group, Place at) const noexcept {
    return fail(Errc::invalid_argument, "page ", at.index, " of slot ", at.slot, " in cache group ", group, " is ", id,
                ", expected an id below ", pages_);
  }
  [[nodiscard]] static Result<void> clash(std::uint32_t id, std::uint32_t group, Place writer, Place other,
                                          std::string_view does) noexcept {
    return fail(Errc::overlapping_writers, "page id ", id, " of cache group ", group, " is page ", writer.index,
                " of slot ", writer.slot, ", which writes it; slot ", other.slot, " ", does, " it as page ",
                other.index);
  }

  std::uint32_t groups_ = 0;
  std::uint32_t pages_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t pages_per_slot_ = 0;
  std::uint64_t step_ = 0;
  Vector<Writer> writers_;  ///< [groups][pages]
};

}  // namespace zrt::inline ZRT_ABI::exec
