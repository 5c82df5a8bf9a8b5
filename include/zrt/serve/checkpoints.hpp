// SPDX-License-Identifier: Apache-2.0
// zrt/serve/checkpoints.hpp: kept states of recurrent layers.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/serve/handle.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Memory for states at page borders. Each is free, being written by a run, or bound to a page of the prefix tree; a
/// bound one that no slot is about to load may be taken for another, the one used longest ago first.
class Checkpoints {
 public:
  enum class Use : std::uint8_t { free, writing, bound };
  struct Row {
    std::uint32_t page = kNone;
    std::uint32_t pins = 0;  ///< slots that will load it
    std::uint64_t used = 0;  ///< counts uses, not time
    Use use = Use::free;
  };

  [[nodiscard]] static Result<Checkpoints> make(std::uint32_t count, const Allocator& allocator) noexcept {
    Checkpoints c(allocator);
    if (auto r = c.rows_.resize(count); !r) return pass(r);
    return c;
  }

  [[nodiscard]] Span<const Row> rows() const noexcept { return rows_.span(); }

  /// One to write: free, or bound and taken; kNone when all are in use. `page` is where the taken one was bound.
  [[nodiscard]] std::uint32_t take(std::uint32_t& page, bool even_pinned) noexcept {
    std::uint32_t best = kNone;
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      const Row& r = rows_[i];
      if (r.use == Use::writing || (r.use == Use::bound && r.pins != 0 && !even_pinned)) continue;
      if (best == kNone || order(r) < order(rows_[best])) best = i;
    }
    page = best == kNone ? kNone : rows_[best].page;
    if (best != kNone) rows_[best] = {kNone, 0, 0, Use::writing};
    return best;
  }
  void bind(std::uint32_t row, std::uint32_t page) noexcept { rows_[row] = {page, 0, ++uses_, Use::bound}; }
  void free(std::uint32_t row) noexcept { rows_[row] = {}; }
  void pin(std::uint32_t row) noexcept {
    ++rows_[row].pins;
    rows_[row].used = ++uses_;
  }
  void unpin(std::uint32_t row) noexcept {
    if (rows_[row].pins != 0) --rows_[row].pins;
  }

 private:
  explicit Checkpoints(const Allocator& a) noexcept : rows_(a) {}
  [[nodiscard]] static std::uint64_t order(const Row& r) noexcept { return r.use == Use::free ? 0 : r.used; }

  Vector<Row> rows_;
  std::uint64_t uses_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::serve
