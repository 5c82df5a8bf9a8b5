// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/special_tokens.hpp: cutting a text at the tokens that are found in it as whole words.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>
#include <zrt/text/vocabulary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// A part of a text: plain when `token` is kNoToken, else that token.
struct Fragment {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::int32_t token = kNoToken;
};

/// Knows the control, unknown and user-defined tokens of a vocabulary.
///
/// Longer tokens are cut out first, in the whole text, before shorter ones are looked for.
class SpecialTokens {
 public:
  explicit SpecialTokens(Allocator allocator) noexcept : sorted_(allocator), by_length_(allocator) {}

  /// Collects the special tokens of `tokens`, whose texts must outlive this; `type_of(id)` is a TokenType.
  template <class TypeOf>
  [[nodiscard]] Result<void> build(std::span<const std::string_view> tokens, const TypeOf& type_of) noexcept {
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      const TokenType type = type_of(id);
      if (tokens[id].empty()) continue;
      if (type != TokenType::control && type != TokenType::unknown && type != TokenType::user_defined) continue;
      if (auto r = sorted_.push_back({tokens[id], static_cast<std::int32_t>(id), type == TokenType::user_defined}); !r)
        return r;
    }
    std::sort(sorted_.begin(), sorted_.end(), [](const Special& a, const Special& b) {
      const int order = a.text.compare(b.text);
      return order != 0 ? order < 0 : a.id < b.id;
    });
    if (auto r = by_length_.resize(sorted_.size()); !r) return r;
    for (std::size_t i = 0; i < sorted_.size(); ++i) by_length_[i] = static_cast<std::uint32_t>(i);
    std::sort(by_length_.begin(), by_length_.end(), [this](std::uint32_t a, std::uint32_t b) {
      const std::size_t x = sorted_[a].text.size();
      const std::size_t y = sorted_[b].text.size();
      return x != y ? x > y : sorted_[a].id < sorted_[b].id;
    });
    std::size_t at = 0;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      first_[byte] = at;
      while (at < sorted_.size() && static_cast<unsigned char>(sorted_[at].text[0]) == byte) ++at;
    }
    first_[256] = at;
    return {};
  }

  /// Writes the fragments of `text` to `out`; without `parse_special` only user-defined tokens cut it.
  [[nodiscard]] Result<void> split(std::string_view text, bool parse_special, Vector<Fragment>& out) const noexcept {
    out.clear();
    if (text.empty()) return {};
    if (auto r = out.push_back({0, text.size(), kNoToken}); !r) return r;
    Vector<bool> present(out.allocator());
    if (auto r = mark_present(text, parse_special, present); !r) return r;
    if (present.empty()) return {};
    Vector<Fragment> next(out.allocator());
    for (const std::uint32_t index : by_length_) {
      if (!present[index]) continue;
      next.clear();
      for (const Fragment& fragment : out)
        if (auto r = cut_out(sorted_[index], text, fragment, next); !r) return r;
      std::swap(out, next);
    }
    return {};
  }

 private:
  struct Special {
    std::string_view text;
    std::int32_t id;
    bool user_defined;
  };

  // One walk finds which tokens occur at all, so that a vocabulary with thousands of special tokens
  // costs a text that has none of them only this walk. `present` stays empty when there are none.
  [[nodiscard]] Result<void> mark_present(std::string_view text, bool parse_special,
                                          Vector<bool>& present) const noexcept {
    for (std::size_t at = 0; at < text.size(); ++at) {
      const auto lead = static_cast<unsigned char>(text[at]);
      const Special* low = sorted_.data() + first_[lead];
      const Special* high = sorted_.data() + first_[lead + 1u];
      for (std::size_t depth = 1; low != high; ++depth) {
        for (; low != high && low->text.size() == depth; ++low) {
          if (!parse_special && !low->user_defined) continue;
          if (present.empty())
            if (auto r = present.resize(sorted_.size()); !r) return r;
          present[static_cast<std::size_t>(low - sorted_.data())] = true;
        }
        if (at + depth >= text.size()) break;
        const auto byte = static_cast<unsigned char>(text[at + depth]);
        const auto letter = [depth](const Special& s) { return static_cast<unsigned char>(s.text[depth]); };
        low = std::lower_bound(low, high, byte, [&](const Special& s, unsigned char b) { return letter(s) < b; });
        high = std::upper_bound(low, high, byte, [&](unsigned char b, const Special& s) { return b < letter(s); });
      }
    }
    return {};
  }

  [[nodiscard]] static Result<void> cut_out(const Special& special, std::string_view text, const Fragment& fragment,
                                            Vector<Fragment>& out) noexcept {
    if (fragment.token != kNoToken) return out.push_back(fragment);
    const std::string_view part = slice(text, 0, fragment.end);
    std::size_t at = fragment.begin;
    while (at < fragment.end) {
      const std::size_t found = std::min(part.find(special.text, at), fragment.end);
      if (found > at)
        if (auto r = out.push_back({at, found, kNoToken}); !r) return r;
      if (found == fragment.end) break;
      at = found + special.text.size();
      if (auto r = out.push_back({found, at, special.id}); !r) return r;
    }
    return {};
  }

  Vector<Special> sorted_;
  Vector<std::uint32_t> by_length_;
  std::array<std::size_t, 257> first_{};
};

}  // namespace zrt::inline ZRT_ABI::text::detail
