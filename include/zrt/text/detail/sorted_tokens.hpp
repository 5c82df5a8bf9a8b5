// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/sorted_tokens.hpp: tokens in the order of their texts, and those that a text has at a place.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/core/span.hpp>
#include <zrt/core/vector.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Ids of a vocabulary in the order of their texts. Of equal texts the highest id counts.
class SortedTokens {
 public:
  explicit SortedTokens(Allocator allocator) noexcept : sorted_(allocator) {}

  /// Sorts the tokens that `takes(id)`; empty ones are left out. The texts must outlive this.
  template <class Takes>
  [[nodiscard]] Result<void> build(Span<const std::string_view> tokens, const Takes& takes) noexcept {
    tokens_ = tokens;
    for (std::size_t id = 0; id < tokens.size(); ++id)
      if (!tokens[id].empty() && takes(id))
        if (auto r = sorted_.push_back(static_cast<std::uint32_t>(id)); !r) return r;
    heap_sort(sorted_.span(), [this](std::uint32_t a, std::uint32_t b) noexcept {
      const int order = tokens_[a].compare(tokens_[b]);
      return order != 0 ? order < 0 : a > b;
    });
    std::size_t at = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      first_[byte] = at;
      while (at < sorted_.size() && static_cast<unsigned char>(tokens_[sorted_[at]][0]) == byte) ++at;
    }
    first_[256] = at;
    return {};
  }

  /// Calls `visit(id)` for each token that `text` has at `at`, shorter ones first. Follows the tokens that go on as the
  /// text does, and so looks at no more bytes than the longest of them has.
  template <class Visit> void each_at(std::string_view text, std::size_t at, const Visit& visit) const noexcept {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::uint32_t* low = sorted_.data() + first_[lead];
    const std::uint32_t* high = sorted_.data() + first_[lead + 1u];
    for (std::size_t depth = 1; low != high; ++depth) {
      if (tokens_[*low].size() == depth) visit(static_cast<std::int32_t>(*low));
      while (low != high && tokens_[*low].size() == depth) ++low;
      if (at + depth == text.size()) break;
      const auto byte = static_cast<unsigned char>(text[at + depth]);
      const auto letter = [&](std::uint32_t id) noexcept { return static_cast<unsigned char>(tokens_[id][depth]); };
      low = std::lower_bound(low, high, byte, [&](std::uint32_t id, unsigned char b) { return letter(id) < b; });
      high = std::upper_bound(low, high, byte, [&](unsigned char b, std::uint32_t id) { return b < letter(id); });
    }
  }

 private:
  Span<const std::string_view> tokens_;
  Vector<std::uint32_t> sorted_;
  std::array<std::size_t, 257> first_{};
};

}  // namespace zrt::inline ZRT_ABI::text::detail
