// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/text_index.hpp: from a token's text to its id, eight bytes per slot.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/hash_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

inline constexpr std::int32_t kNoToken = -1;

/// Finds tokens by text. An index of views would take five times the memory: it keeps a view in each slot,
/// where here the vocabulary holds the texts. Of equal texts the highest id is found.
class TextIndex {
 public:
  explicit TextIndex(Allocator allocator) noexcept : slots_(allocator) {}

  /// Indexes `texts`, which stay the caller's and must outlive the index. A file may have been made so that its
  /// texts share their places: then they are spread in other ways, a few times.
  ///
  /// Errors: Errc::limit_exceeded for texts that share their places whatever the way, out_of_memory.
  [[nodiscard]] Result<void> build(Span<const std::string_view> texts) noexcept {
    texts_ = texts;
    for (const std::string_view text : texts) longest_ = text.size() > longest_ ? text.size() : longest_;
    if (auto r = slots_.resize(table_slots(texts.size())); !r) return r;
    for (way_ = 0; way_ < kWaysToSpread; ++way_)
      if (fill()) return {};
    return fail(Errc::limit_exceeded, "the texts of the vocabulary's ", texts.size(),
                " tokens share too few places of a hash table");
  }

  /// Returns the id of the token that reads `text`, or kNoToken.
  [[nodiscard]] std::int32_t find(std::string_view text) const noexcept {
    if (text.size() > longest_ || slots_.empty()) return kNoToken;
    return slots_[probe(text, hash_bytes(text)).slot].id;
  }

  [[nodiscard]] const Allocator& allocator() const noexcept { return slots_.allocator(); }
  /// The length of the longest text in bytes.
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = kNoToken;
  };

  struct Place {
    std::size_t slot;
    std::size_t steps;
  };

  [[nodiscard]] Place probe(std::string_view text, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    const auto high = static_cast<std::uint32_t>(hash >> 32);
    Place at{static_cast<std::size_t>(spread(hash, way_)) & mask, 0};
    while (slots_[at.slot].id != kNoToken &&
           (slots_[at.slot].hash != high || texts_[static_cast<std::size_t>(slots_[at.slot].id)] != text))
      at = {(at.slot + 1) & mask, at.steps + 1};
    return at;
  }

  /// False where the searches take more steps than places that are spread well cost.
  [[nodiscard]] bool fill() noexcept {
    for (Slot& slot : slots_) slot = {};
    std::size_t steps = 0;
    for (std::size_t id = texts_.size(); id-- > 0;) {
      const std::uint64_t hash = hash_bytes(texts_[id]);
      const Place at = probe(texts_[id], hash);
      steps += at.steps;
      if (steps > most_steps(texts_.size())) return false;
      if (slots_[at.slot].id == kNoToken)
        slots_[at.slot] = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::int32_t>(id)};
    }
    return true;
  }

  Span<const std::string_view> texts_;
  Vector<Slot> slots_;
  std::size_t longest_ = 0;
  std::uint64_t way_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
