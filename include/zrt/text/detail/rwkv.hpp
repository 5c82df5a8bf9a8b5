// SPDX-License-Identifier: Apache-2.0
// zrt/text/detail/rwkv.hpp: the "rwkv" model: from left to right, the longest token that the text has there.
#pragma once

#include <zrt/core/span.hpp>
#include <zrt/core/string.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/text/detail/byte_text.hpp>
#include <zrt/text/detail/sorted_tokens.hpp>
#include <zrt/text/detail/text_index.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zrt::inline ZRT_ABI::text::detail {

/// A vocabulary of byte strings. Files spell them with escapes (`\n`, `\r`, `\t`, `\xHH`, and a backslash before any
/// other character for that character), so this holds the bytes that they stand for.
///
/// Takes time in proportion to the text, for a vocabulary. Source: the tokenizer of RWKV World.
class Rwkv {
 public:
  explicit Rwkv(Allocator allocator) noexcept : bytes_(allocator), tokens_(allocator), sorted_(allocator) {}

  /// `unk`, or kNoToken, stands for bytes without a token. Errors: invalid_metadata for a bad escape, out_of_memory.
  template <class TypeOf>
  [[nodiscard]] Result<void> build(const VocabularySpec& spec, std::int32_t unk, const TypeOf& type_of) noexcept {
    unk_ = unk;
    Vector<std::size_t> ends(bytes_.allocator());
    for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
      if (auto r = append_bytes(spec.tokens[id], id); !r) return r;
      if (auto r = ends.push_back(bytes_.size()); !r) return r;
    }
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      if (auto r = tokens_.push_back({bytes_.data() + begin, end - begin}); !r) return r;
      begin = end;
    }
    return sorted_.build(tokens_.span(), [&](std::size_t id) noexcept {
      return type_of(id) != TokenType::control && type_of(id) != TokenType::unknown;
    });
  }

  /// The bytes that token `id` stands for.
  [[nodiscard]] std::string_view bytes(std::int32_t id) const noexcept { return tokens_[static_cast<std::size_t>(id)]; }

  /// Appends the tokens of `text`. Without an unknown token, a byte without a token gives nothing.
  [[nodiscard]] Result<void> encode(std::string_view text, Vector<std::int32_t>& out) const noexcept {
    for (std::size_t at = 0; at < text.size();) {
      std::int32_t longest = kNoToken;
      sorted_.each_at(text, at, [&](std::int32_t token) noexcept { longest = token; });
      at += longest == kNoToken ? 1 : bytes(longest).size();
      if (longest == kNoToken) longest = unk_;
      if (longest == kNoToken) continue;
      if (auto r = out.push_back(longest); !r) return r;
    }
    return {};
  }

 private:
  [[nodiscard]] Result<void> append_bytes(std::string_view spelled, std::size_t id) noexcept {
    for (std::size_t at = 0; at < spelled.size(); ++at) {
      const auto byte = spelled[at] == '\\' ? read_escape(spelled, at) : std::optional(spelled[at]);
      if (!byte) return fail(Errc::invalid_metadata, "token ", id, " has an escape that is none: '", spelled, "'");
      if (auto r = bytes_.push_back(*byte); !r) return r;
    }
    return {};
  }

  /// The byte of the escape at `at`, which moves to its last character.
  [[nodiscard]] static std::optional<char> read_escape(std::string_view spelled, std::size_t& at) noexcept {
    if (++at == spelled.size()) return std::nullopt;
    switch (spelled[at]) {
      case 't':
        return '\t';
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 'x':
        break;
      default:
        return spelled[at];
    }
    if (spelled.size() - at <= 2) return std::nullopt;
    const auto byte = hex_digits(slice(spelled, at + 1, 2));
    at += 2;
    return byte ? std::optional(static_cast<char>(*byte)) : std::nullopt;
  }

  Vector<char> bytes_;
  Vector<std::string_view> tokens_;
  SortedTokens sorted_;
  std::int32_t unk_ = kNoToken;
};

}  // namespace zrt::inline ZRT_ABI::text::detail
