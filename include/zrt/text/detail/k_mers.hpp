// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/k_mers.hpp: the sequences of "hybriddna" texts: six letters a token, between <dna> and </dna>.
#pragma once

#include <zrt/core/vector.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/detail/unicode.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// Tokens of sequences. Their texts end in U+E000, which keeps them apart from words that are spelled alike. Letters
/// count as capitals, the last token is filled up with A, and what is no token is <oov>.
class KMers {
 public:
  explicit KMers(const Allocator&) noexcept {}

  void build(const TextIndex& index) noexcept {
    begin_ = index.find(kBegin);
    end_ = index.find(kEnd);
    other_ = index.find("<oov>");
  }

  /// Appends the tokens of `text`; those of what is no sequence come from `plain(part)`.
  template <class Plain>
  [[nodiscard]] Result<void> encode(std::string_view text, const TextIndex& index, const Plain& plain,
                                    Vector<std::int32_t>& out) const noexcept {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t tag = has_sequences() ? std::min(text.find(kBegin, at), text.size()) : text.size();
      if (tag > at)
        if (auto r = plain(slice(text, at, tag - at)); !r) return r;
      if (tag == text.size()) break;
      const std::size_t first = tag + kBegin.size();
      const std::size_t last = std::min(text.find(kEnd, first), text.size());
      if (auto r = out.push_back(begin_); !r) return r;
      if (auto r = encode_sequence(slice(text, first, last - first), index, out); !r) return r;
      if (last == text.size()) break;
      if (auto r = out.push_back(end_); !r) return r;
      at = last + kEnd.size();
    }
    return {};
  }

  /// What token `id`, spelled `text`, is written as.
  [[nodiscard]] std::string_view written(std::int32_t id, std::string_view text) const noexcept {
    const bool marked = other_ != kNoToken && id > other_ && text.size() > kMark.size() && text.ends_with(kMark);
    return slice(text, 0, text.size() - (marked ? kMark.size() : 0));
  }

 private:
  static constexpr std::string_view kBegin = "<dna>";
  static constexpr std::string_view kEnd = "</dna>";
  static constexpr std::string_view kMark = "\xee\x80\x80";
  static constexpr std::size_t kLetters = 6;

  [[nodiscard]] bool has_sequences() const noexcept {
    return begin_ != kNoToken && end_ != kNoToken && other_ != kNoToken;
  }

  [[nodiscard]] Result<void> encode_sequence(std::string_view sequence, const TextIndex& index,
                                             Vector<std::int32_t>& out) const noexcept {
    std::array<char, kLetters + kMark.size()> spelled{};
    std::copy(kMark.begin(), kMark.end(), spelled.begin() + kLetters);
    for (std::size_t at = 0; at < sequence.size(); at += kLetters) {
      for (std::size_t i = 0; i < kLetters; ++i)
        spelled[i] = at + i < sequence.size() ? capital(sequence[at + i]) : 'A';
      const std::int32_t token = index.find({spelled.data(), spelled.size()});
      if (auto r = out.push_back(token == kNoToken ? other_ : token); !r) return r;
    }
    return {};
  }

  [[nodiscard]] static char capital(char c) noexcept {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }

  std::int32_t begin_ = kNoToken;
  std::int32_t end_ = kNoToken;
  std::int32_t other_ = kNoToken;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
