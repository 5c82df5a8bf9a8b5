// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/text_index.hpp: from a token's text to its id, eight bytes per slot.
#pragma once

#include <zrt/core/hash.hpp>
#include <zrt/core/vector.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

inline constexpr std::int32_t kNoToken = -1;

/// Finds tokens by text. An index of views would take five times the memory: it keeps a view in each slot,
/// where here the vocabulary holds the texts. Of equal texts the highest id is found.
class TextIndex {
 public:
  explicit TextIndex(Allocator allocator) noexcept : slots_(allocator) {}

  /// Indexes `texts`, which stay the caller's and must outlive the index.
  [[nodiscard]] Result<void> build(std::span<const std::string_view> texts) noexcept {
    texts_ = texts;
    std::size_t wanted = 16;
    while (wanted < texts.size() * 2) wanted *= 2;
    if (auto r = slots_.resize(wanted); !r) return r;
    for (std::size_t id = texts.size(); id-- > 0;) {
      longest_ = texts[id].size() > longest_ ? texts[id].size() : longest_;
      const std::uint64_t hash = hash_bytes(texts[id]);
      Slot& slot = slots_[probe(texts[id], hash)];
      if (slot.id == kNoToken) slot = {static_cast<std::uint32_t>(hash >> 32), static_cast<std::int32_t>(id)};
    }
    return {};
  }

  /// Returns the id of the token that reads `text`, or kNoToken.
  [[nodiscard]] std::int32_t find(std::string_view text) const noexcept {
    if (text.size() > longest_ || slots_.empty()) return kNoToken;
    return slots_[probe(text, hash_bytes(text))].id;
  }

  [[nodiscard]] const Allocator& allocator() const noexcept { return slots_.allocator(); }
  /// The length of the longest text in bytes.
  [[nodiscard]] std::size_t longest() const noexcept { return longest_; }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t id = kNoToken;
  };

  [[nodiscard]] std::size_t probe(std::string_view text, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    const auto high = static_cast<std::uint32_t>(hash >> 32);
    std::size_t i = static_cast<std::size_t>(hash) & mask;
    while (slots_[i].id != kNoToken &&
           (slots_[i].hash != high || texts_[static_cast<std::size_t>(slots_[i].id)] != text))
      i = (i + 1) & mask;
    return i;
  }

  std::span<const std::string_view> texts_;
  Vector<Slot> slots_;
  std::size_t longest_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
