// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/special_tokens.hpp: cutting a text at the tokens that are found in it as whole words.
#pragma once

#include <zrt/core/heap.hpp>
#include <zrt/core/span.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// A part of a text: plain when `token` is kNoToken, else that token.
struct TextPart {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int32_t token = kNoToken;
};

/// Knows the control, unknown and user-defined tokens of a vocabulary.
///
/// Longer tokens are cut out first, in the whole text, before shorter ones are looked for; of equal length,
/// those with the lower id, and of one token, the leftmost.
class SpecialTokens {
 public:
  explicit SpecialTokens(Allocator allocator) noexcept : sorted_(allocator) {}

  /// Collects the special tokens of `tokens`, whose texts must outlive this; `type_of(id)` is a TokenType, and
  /// `steers(id)` whether the token must not come from a text that somebody else wrote.
  template <class TypeOf, class Steers>
  [[nodiscard]] Result<void> build(Span<const std::string_view> tokens, const TypeOf& type_of,
                                   const Steers& steers) noexcept {
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      const TokenType type = type_of(id);
      if (tokens[id].empty()) continue;
      if (type != TokenType::control && type != TokenType::unknown && type != TokenType::user_defined) continue;
      const Special special{tokens[id], static_cast<std::int32_t>(id), type == TokenType::user_defined, steers(id)};
      if (auto r = sorted_.push_back(special); !r) return r;
    }
    heap_sort(sorted_.span(), [](const Special& a, const Special& b) {
      const int order = a.text.compare(b.text);
      return order != 0 ? order < 0 : a.id < b.id;
    });
    std::size_t at = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      first_[byte] = at;
      while (at < sorted_.size() && static_cast<unsigned char>(sorted_[at].text[0]) == byte) ++at;
    }
    first_[256] = at;
    link_prefixes();
    return rank();
  }

  /// Where tokens may stand in a text.
  struct Rules {
    bool parse_special;      ///< else only user-defined tokens cut it
    Span<const bool> given;  ///< by byte, or empty: no token that steers a model touches one
    [[nodiscard]] bool touches(std::size_t at, std::size_t size) const noexcept {
      for (std::size_t i = at; i < at + size && i < given.size(); ++i)
        if (given[i]) return true;
      return false;
    }
  };

  /// Writes the fragments of `text` to `out`.
  [[nodiscard]] Result<void> split(std::string_view text, const Rules& rules, Vector<TextPart>& out) const noexcept {
    out.clear();
    if (text.empty()) return {};
    Vector<Occurrence> open(out.allocator());
    for (std::size_t at = 0; at < text.size(); ++at) {
      const std::size_t token = allowed(longest_at(text, at), at, rules);
      if (token == kNone) continue;
      if (auto r = open.push_back({sorted_[token].rank, at, token}); !r) return r;
    }
    if (auto r = choose(text.size(), rules, open, out); !r) return r;
    return fill_gaps(text.size(), out);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Special {
    std::string_view text;
    std::int32_t id;
    bool user_defined;
    bool steers;
    std::size_t rank = 0;         ///< in the order in which tokens are cut out
    std::size_t shorter = kNone;  ///< first token whose text is the longest proper prefix of this one's
  };

  /// A token found at a place.
  struct Occurrence {
    std::size_t rank;
    std::size_t at;
    std::size_t token;

    /// Whether this is cut out after `other`: the order of a heap whose top is cut out first.
    [[nodiscard]] bool operator<(const Occurrence& other) const noexcept {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  // In sorted order a text's prefixes stand before it, each a prefix of the next.
  void link_prefixes() noexcept {
    std::size_t group = kNone;  // the first of the tokens with the text before
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      if (group != kNone && sorted_[group].text == sorted_[i].text) {
        sorted_[i].shorter = sorted_[group].shorter;
        continue;
      }
      std::size_t prefix = group;
      while (prefix != kNone && !sorted_[i].text.starts_with(sorted_[prefix].text)) prefix = sorted_[prefix].shorter;
      sorted_[i].shorter = prefix;
      group = i;
    }
  }

  [[nodiscard]] Result<void> rank() noexcept {
    Vector<std::size_t> order(sorted_.allocator());
    if (auto r = order.resize(sorted_.size()); !r) return r;
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    heap_sort(order.span(), [this](std::size_t a, std::size_t b) {
      const std::size_t x = sorted_[a].text.size();
      const std::size_t y = sorted_[b].text.size();
      return x != y ? x > y : sorted_[a].id < sorted_[b].id;
    });
    for (std::size_t i = 0; i < order.size(); ++i) sorted_[order[i]].rank = i;
    return {};
  }

  [[nodiscard]] bool is_allowed(const Special& token, std::size_t at, const Rules& rules) const noexcept {
    if (!rules.parse_special && !token.user_defined) return false;
    return !token.steers || !rules.touches(at, token.text.size());
  }
  /// `token`, or what else may stand in its place `at`: the next with its text, then those of its prefixes.
  [[nodiscard]] std::size_t allowed(std::size_t token, std::size_t at, const Rules& rules) const noexcept {
    while (token != kNone && !is_allowed(sorted_[token], at, rules)) {
      const bool same = token + 1 < sorted_.size() && sorted_[token + 1].text == sorted_[token].text;
      token = same ? token + 1 : sorted_[token].shorter;
    }
    return token;
  }

  /// The longest token that `text` has at `at`; kNone for none.
  [[nodiscard]] std::size_t longest_at(std::string_view text, std::size_t at) const noexcept {
    const auto lead = static_cast<unsigned char>(text[at]);
    const Special* low = sorted_.data() + first_[lead];
    const Special* high = sorted_.data() + first_[lead + 1u];
    std::size_t longest = kNone;
    for (std::size_t depth = 1; low != high; ++depth) {
      if (low->text.size() == depth) longest = static_cast<std::size_t>(low - sorted_.data());
      while (low != high && low->text.size() == depth) ++low;
      if (at + depth >= text.size()) break;
      const auto byte = static_cast<unsigned char>(text[at + depth]);
      const auto letter = [depth](const Special& s) { return static_cast<unsigned char>(s.text[depth]); };
      low = std::lower_bound(low, high, byte, [&](const Special& s, unsigned char b) { return letter(s) < b; });
      high = std::upper_bound(low, high, byte, [&](unsigned char b, const Special& s) { return b < letter(s); });
    }
    return longest;
  }

  /// Appends the tokens that cut a text of `size` bytes, in the order of their places. What was cut out
  /// before is never shorter, so a token is free where its first and its last byte are.
  [[nodiscard]] Result<void> choose(std::size_t size, const Rules& rules, Vector<Occurrence>& open,
                                    Vector<TextPart>& out) const noexcept {
    if (open.empty()) return {};
    Vector<bool> taken(out.allocator());
    if (auto r = taken.resize(size); !r) return r;
    std::make_heap(open.begin(), open.end());
    while (!open.empty()) {
      std::pop_heap(open.begin(), open.end());
      Occurrence& next = open.back();
      const Special& token = sorted_[next.token];
      const std::size_t end = next.at + token.text.size();
      if (!taken[next.at] && taken[end - 1]) {
        next.token = allowed(token.shorter, next.at, rules);
        if (next.token != kNone) {
          next.rank = sorted_[next.token].rank;
          std::push_heap(open.begin(), open.end());
          continue;
        }
      } else if (!taken[next.at]) {
        if (auto r = out.push_back({next.at, end, token.id}); !r) return r;
        for (std::size_t i = next.at; i < end; ++i) taken[i] = true;
      }
      open.pop_back();
    }
    heap_sort(out.span(), [](const TextPart& a, const TextPart& b) { return a.begin < b.begin; });
    return {};
  }

  /// Puts the plain text of `size` bytes between and around the tokens in `out`.
  [[nodiscard]] static Result<void> fill_gaps(std::size_t size, Vector<TextPart>& out) noexcept {
    Vector<TextPart> whole(out.allocator());
    std::size_t at = 0;
    for (const TextPart& token : out) {
      if (at < token.begin)
        if (auto r = whole.push_back({at, token.begin, kNoToken}); !r) return r;
      if (auto r = whole.push_back(token); !r) return r;
      at = token.end;
    }
    if (at < size)
      if (auto r = whole.push_back({at, size, kNoToken}); !r) return r;
    std::swap(out, whole);
    return {};
  }

  Vector<Special> sorted_;
  std::array<std::size_t, 257> first_{};
};

}  // namespace zrt::inline ZRT_ABI::text::detail
