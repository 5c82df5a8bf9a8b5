// SPDX-License-Identifier: Apache-2.0
// zrt/model/byte_vocabulary.hpp: a byte-level BPE vocabulary of any size, made by rule.
#pragma once

#include <zrt/core/name.hpp>
#include <zrt/model/gguf/writer.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// A vocabulary that writes and reads every text: the 256 bytes, then pieces of English letters, and an end token last.
///
/// Pieces come in this order: two letters; a space and two letters; four letters, which are two pairs; a space and four
/// letters. Each is the merge of two tokens before it. Letters count from e, the most frequent one.
class ByteVocabulary {
 public:
  static constexpr std::uint32_t kLeast = 257;
  static constexpr std::uint32_t kMost = 256 + 2 * (26 * 26 + 26 * 26 * 26 * 26) + 1;

  /// `size` is kLeast to kMost.
  constexpr explicit ByteVocabulary(std::uint32_t size) noexcept : size_(size) {}

  [[nodiscard]] constexpr std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr std::uint32_t merges() const noexcept { return size_ - kLeast; }
  [[nodiscard]] constexpr std::uint32_t end() const noexcept { return size_ - 1; }

  [[nodiscard]] constexpr Name token(std::uint32_t id) const noexcept {
    if (id == end()) return "<|endoftext|>";
    if (id < 256) return of_byte(id);
    const Halves halves = halves_of(id - 256);
    return Name::of(halves.left.view(), halves.right.view());
  }
  /// "left right", the merge that makes token 256 + `i`.
  [[nodiscard]] constexpr Name merge(std::uint32_t i) const noexcept {
    const Halves halves = halves_of(i);
    return Name::of(halves.left.view(), " ", halves.right.view());
  }

  /// Adds the keys "tokenizer.ggml.*".
  ///
  /// Errors: Errc::invalid_argument for a size out of range; those of the writer.
  [[nodiscard]] Result<void> write(GgufWriter& writer) const noexcept {
    if (size_ < kLeast || size_ > kMost)
      return fail(Errc::invalid_argument, "a vocabulary of bytes has ", kLeast, " to ", kMost, " tokens, ", size_,
                  " wanted");
    constexpr std::int32_t kNormal = 1;
    constexpr std::int32_t kControl = 3;
    if (auto r = writer.add("tokenizer.ggml.model", std::string_view("gpt2")); !r) return r;
    if (auto r = writer.add("tokenizer.ggml.pre", std::string_view("gpt-2")); !r) return r;
    if (auto r = writer.add_texts("tokenizer.ggml.tokens", size_,
                                  [&](std::uint64_t i) noexcept { return token(static_cast<std::uint32_t>(i)); });
        !r)
      return r;
    if (auto r = writer.add_list("tokenizer.ggml.token_type", size_,
                                 [&](std::uint64_t i) noexcept { return i == end() ? kControl : kNormal; });
        !r)
      return r;
    if (auto r = writer.add_texts("tokenizer.ggml.merges", merges(),
                                  [&](std::uint64_t i) noexcept { return merge(static_cast<std::uint32_t>(i)); });
        !r)
      return r;
    if (auto r = writer.add("tokenizer.ggml.bos_token_id", end()); !r) return r;
    return writer.add("tokenizer.ggml.eos_token_id", end());
  }

 private:
  struct Halves {
    Name left;
    Name right;
  };
  static constexpr std::uint32_t kPairs = 26 * 26;
  static constexpr std::string_view kLetters = "etaoinshrdlcumwfgypbvkjxqz";
  static constexpr std::string_view kSpace = "\xc4\xa0";

  /// The character that stands for a byte: itself, where it is one that prints, else the next from U+0100 on.
  ///
  /// Source: bytes_to_unicode of GPT-2's tokenizer.
  [[nodiscard]] static constexpr Name of_byte(std::uint32_t byte) noexcept {
    const auto prints = [](std::uint32_t b) { return (b > 0x20 && b < 0x7f) || (b > 0xa0 && b != 0xad); };
    std::uint32_t code = byte;
    if (!prints(byte)) {
      code = 0x100;
      for (std::uint32_t b = 0; b < byte; ++b) code += prints(b) ? 0u : 1u;
    }
    char utf8[2] = {static_cast<char>(code), 0};
    if (code < 0x80) return std::string_view(utf8, 1);
    utf8[0] = static_cast<char>(0xc0u | code >> 6);
    utf8[1] = static_cast<char>(0x80u | (code & 0x3fu));
    return std::string_view(utf8, 2);
  }
  [[nodiscard]] static constexpr std::string_view letter(std::uint32_t i) noexcept { return kLetters.substr(i, 1); }
  [[nodiscard]] static constexpr Name pair(std::uint32_t i) noexcept {
    return Name::of(letter(i / 26), letter(i % 26));
  }

  [[nodiscard]] static constexpr Halves halves_of(std::uint32_t piece) noexcept {
    if (piece < kPairs) return {letter(piece / 26), letter(piece % 26)};
    piece -= kPairs;
    if (piece < kPairs) return {kSpace, pair(piece)};
    piece -= kPairs;
    const bool spaced = piece >= kPairs * kPairs;
    if (spaced) piece -= kPairs * kPairs;
    const Name left = pair(piece / kPairs);
    return {spaced ? Name::of(kSpace, left.view()) : left, pair(piece % kPairs)};
  }

  std::uint32_t size_;
};
static_assert(ByteVocabulary(2000).token(0x20).view() == "\xc4\xa0" && ByteVocabulary(2000).token('a').view() == "a");
static_assert(ByteVocabulary(2000).token(256).view() == "ee" &&
              ByteVocabulary(2000).merge(676).view() == "\xc4\xa0 ee");

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
