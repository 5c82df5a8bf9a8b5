// SPDX-License-Identifier: Apache-2.0
// tests/data/tokenizer/small_vocabularies.hpp: one small vocabulary of each model, with every kind of token.
#pragma once

#include <zrt/text/detail/byte_text.hpp>
#include <zrt/text/vocabulary.hpp>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace zrt::test {

/// Owns what a spec points at; not movable, because the spec keeps views.
struct SmallVocabulary {
  std::deque<std::string> texts;
  std::vector<std::string_view> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  std::vector<std::string_view> merges;
  text::VocabularySpec spec;

  SmallVocabulary() = default;
  SmallVocabulary(const SmallVocabulary&) = delete;
  SmallVocabulary& operator=(const SmallVocabulary&) = delete;

  std::int32_t add(std::string token, text::TokenType type = text::TokenType::normal, float score = 0) {
    tokens.push_back(texts.emplace_back(std::move(token)));
    types.push_back(static_cast<std::int32_t>(type));
    scores.push_back(score);
    return static_cast<std::int32_t>(tokens.size() - 1);
  }
  void merge(std::string_view left, std::string_view right) {
    merges.push_back(texts.emplace_back(std::string(left) + ' ' + std::string(right)));
    add(std::string(left) + std::string(right));
  }
  void refresh() {
    spec.tokens = tokens;
    spec.types = types;
    if (spec.model == "llama" || spec.model == "t5" || spec.model == "plamo2") spec.scores = scores;
    spec.merges = merges;
  }
};

/// "t5": <pad> </s> <unk>, and pieces around the word "hello" of which the longer ones are likelier.
struct SmallUnigram : SmallVocabulary {
  SmallUnigram() {
    using enum text::TokenType;
    spec.model = "t5";
    add("<pad>", control);
    spec.eos = add("</s>", control);
    spec.unk = add("<unk>", unknown);
    add("<tool>", user_defined);
    float score = -2;
    for (const char* piece : {"\xe2\x96\x81hello", "hell", "o", "\xe2\x96\x81", "he", "llo", "h", "e", "l"})
      add(piece, text::TokenType::normal, score -= 1);
    add("w", text::TokenType::unused, -1);
    spec.add_space_prefix = true;
    spec.remove_extra_whitespaces = true;
    refresh();
  }
};

/// "bert": [UNK] [CLS] [SEP], letters in and at the beginning of words, and pieces around the word "hello".
struct SmallWordPiece : SmallVocabulary {
  SmallWordPiece() {
    using enum text::TokenType;
    spec.model = "bert";
    spec.unk = add("[UNK]", unknown);
    spec.bos = add("[CLS]", control);
    spec.sep = add("[SEP]", control);
    for (const char* piece :
         {"\xe2\x96\x81hello", "\xe2\x96\x81he", "\xe2\x96\x81h", "l", "llo", "lo", "\xe2\x96\x81", "e", "a",
          "\xe2\x96\x81"
          "a",
          "!", "\xe2\x96\x81!", "\xe2\x96\x81\xe4\xbd\xa0", "\xe1\x84\x92"})
      add(piece);
    refresh();
  }
};

/// "llama": <unk> <s> </s>, all bytes, and pieces around the word "hello"; ids 0, 1, 2, 3 to 258, then the rest.
struct SmallSentencePiece : SmallVocabulary {
  SmallSentencePiece() {
    using enum text::TokenType;
    spec.model = "llama";
    add("<unk>", unknown);
    add("<s>", control);
    add("</s>", control);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto spelled = text::detail::hex_text(static_cast<unsigned char>(byte));
      add(std::string(spelled.data(), spelled.size()), text::TokenType::byte);
    }
    float score = -1;
    for (const char* piece : {"\xe2\x96\x81", "h", "e", "l", "o", "w", "r", "d", "a", "\xc3\xa9"})
      add(piece, normal, score -= 1);
    score = 20;
    for (const char* piece :
         {"ll", "he", "llo", "hello",
          "\xe2\x96\x81"
          "hello",
          "\xe2\x96\x81\xe2\x96\x81", "lo", "or", "wor", "ld", "world", "\xe2\x96\x81world", "aa", "aaaa"})
      add(piece, normal, score -= 1);
    add("<tool>", user_defined);
    add("<tool>x", user_defined);
    add("<|im_end|>", normal);  // well known, so that it counts as control all the same
    refresh();
  }
};

/// "gpt2": all byte letters (ids 0 to 255), merges up to " hello", digits, then the special tokens.
struct SmallByteBpe : SmallVocabulary {
  explicit SmallByteBpe(std::string_view pre = "gpt-2") {
    using enum text::TokenType;
    spec.model = "gpt2";
    spec.pre = pre;
    for (unsigned byte = 0; byte < 256; ++byte)
      add(std::string(text::detail::byte_letter(static_cast<unsigned char>(byte)).view()));
    merge("l", "l");
    merge("h", "e");
    merge("ll", "o");
    merge("he", "llo");
    merge("\xc4\xa0", "hello");
    merge("a", "a");
    merge("aa", "aa");
    merge("1", "2");
    merge("\xc3\x83", "\xc2\xa9");  // the two bytes of U+00E9
    merge("o", "r");
    merge("l", "d");
    add("world");  // no merge makes it: only a vocabulary that ignores merges finds it
    spec.bos = spec.eos = add("<|endoftext|>", control);
    add("<tool>", user_defined);
    add("<tool>x", user_defined);
    refresh();
  }
};

/// "rwkv": <s>, all bytes (ids 1 to 256), and words with bytes and escapes.
struct SmallRwkv : SmallVocabulary {
  SmallRwkv() {
    using enum text::TokenType;
    spec.model = "rwkv";
    add("<s>", control);
    constexpr std::string_view digits = "0123456789abcdef";
    for (unsigned byte = 0; byte < 256; ++byte) add(std::string("\\x") + digits[byte >> 4] + digits[byte & 15]);
    for (const char* word : {"he", "hello", "aaaa", "\\n\\n", "\\xe2\\x82", "\\\\\\'", "\\t\\r"}) add(word);
    refresh();
  }
};

/// "plamo2": unknown, BOS, EOS and padding, all bytes (ids 4 to 259), and pieces around the word "hello".
struct SmallPlamo2 : SmallVocabulary {
  SmallPlamo2() {
    using enum text::TokenType;
    spec.model = "plamo2";
    add("<|plamo:unk|>", unknown);
    for (const char* name : {"<|plamo:bos|>", "<|plamo:eos|>", "<|plamo:pad|>"}) add(name, control);
    for (unsigned byte = 0; byte < 256; ++byte) {
      const auto spelled = text::detail::hex_text(static_cast<unsigned char>(byte));
      add(std::string(spelled.data(), spelled.size()), text::TokenType::byte);
    }
    float score = -2;
    for (const char* piece : {"hello", "hell", "o", " ", "he", "llo", "h", "e", "l", "aaaa", "aa"})
      add(piece, normal, score -= 1);
    refresh();
  }
};

}  // namespace zrt::test
