// SPDX-License-Identifier: Apache-2.0
// tests/fuzz/tokenizer.cpp: any text over small vocabularies, any ids, and vocabularies made of the input.
// covers: zrt/text/detail/merger.hpp 90
// covers: zrt/text/detail/special_tokens.hpp 90
// covers: zrt/text/detail/token_spaces.hpp 90
// covers: zrt/text/tokenizer.hpp 90
// covers: zrt/text/detail/byte_bpe.hpp 90
// covers: zrt/text/detail/characters.hpp 90
// covers: zrt/text/detail/scanner.hpp 90
// covers: zrt/text/pre/chameleon.hpp 90
// covers: zrt/text/pre/deepseek_v3.hpp 90
// covers: zrt/text/pre/digit_groups.hpp 90
// covers: zrt/text/pre/gpt2.hpp 90
// covers: zrt/text/pre/jais2.hpp 90
// covers: zrt/text/pre/words.hpp 90
// covers: zrt/text/detail/character_map.hpp 90
// covers: zrt/text/detail/unigram.hpp 90
// covers: zrt/text/detail/word_piece.hpp 90
// covers: zrt/text/detail/k_mers.hpp 90
// covers: zrt/text/detail/plamo2.hpp 90
// covers: zrt/text/detail/rwkv.hpp 90
// covers: zrt/text/detail/byte_text.hpp 90
// covers: zrt/text/detail/clean_spaces.hpp 90
// covers: zrt/text/detail/folds.hpp 90
// covers: zrt/text/detail/hash_table.hpp 90
// covers: zrt/text/detail/known_tokens.hpp 90
// covers: zrt/text/detail/sentence_piece.hpp 90
// covers: zrt/text/detail/sorted_tokens.hpp 90
// covers: zrt/text/detail/text_index.hpp 90
// covers: zrt/text/detail/unicode.hpp 90
// covers: zrt/text/detokenizer.hpp 90
// covers: zrt/text/pre/bloom.hpp 90
// covers: zrt/text/pre/deepseek_llm.hpp 90
// covers: zrt/text/pre/plain_text.hpp 90
// covers: zrt/text/pre/punctuation_first.hpp 90
// covers: zrt/text/pre/youtu.hpp 90
// max-len: 512
#include <zrt/text/detokenizer.hpp>
#include <zrt/text/tokenizer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <data/tokenizer/small_vocabularies.hpp>
#include <string>
#include <string_view>
#include <tools/character_map_writer.hpp>
#include <vector>

namespace {

namespace text = zrt::text;

void require(bool holds) {
  if (!holds) __builtin_trap();
}

// Whether each input has all checks, as those have that a run begins with.
bool all_checks = true;

/// One input of a few has the checks that add time and few lines: a share that the input itself chooses.
bool one_of(unsigned few, std::string_view input) {
  std::uint32_t hash = 2166136261u;
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return (hash >> 8) % few == 0;
}

void encode_and_back(const text::Tokenizer& t, std::string_view input, bool lossless) {
  text::DecodeOptions exact;
  exact.special = true;
  exact.clean_spaces = false;
  for (const bool special : {false, true}) {
    if (!all_checks && special != one_of(2, input)) continue;
    text::EncodeOptions encoding;
    encoding.parse_special = special;
    const auto ids = t.encode(input, encoding);
    require(ids.has_value());
    for (const std::int32_t id : *ids) require(id >= 0 && static_cast<std::size_t>(id) < t.vocab_size());
    const auto back = t.decode(ids->span(), exact);
    require(back.has_value() && (!lossless || back->view() == input));
    if (!all_checks && !one_of(4, input)) continue;
    for (const std::int32_t id : *ids) {
      const auto same = t.find_token(t.token_text(id));
      require(same.has_value() && t.token_text(*same) == t.token_text(id));
    }
    require(t.decode(ids->span()).has_value());
  }
  if (!all_checks && !one_of(4, input)) return;
  // A text and a second one, with what stands around them.
  text::EncodeOptions whole;
  whole.add_special = true;
  auto pair = t.encode(input.substr(0, input.size() / 2), whole);
  require(pair.has_value());
  require(t.append_second(input.substr(input.size() / 2), false, *pair).has_value());
  require(t.decode(pair->span()).has_value());
}

void stream(const text::Tokenizer& t, std::string_view input) {
  text::Detokenizer d(t);
  if (one_of(2, input)) require(d.reserve(input.size()).has_value());
  const auto check = [](std::string_view out) {
    for (std::size_t at = 0; at < out.size(); at += text::detail::decode(out, at).length)
      require(text::detail::decode(out, at).valid);
  };
  for (std::size_t i = 0; i + 1 < input.size(); i += 2) {
    const auto id = static_cast<unsigned char>(input[i]) * 256 + static_cast<unsigned char>(input[i + 1]);
    if (const auto out = d.feed(id % 512 - 8)) check(*out);
  }
  check(d.finish().value());
}

/// Reads a vocabulary out of the input: lines are tokens, their first bytes types and scores.
void strange_vocabulary(std::string_view input, std::string_view model) {
  std::vector<std::string_view> tokens, merges;
  std::vector<float> scores;
  std::vector<std::int32_t> types;
  std::vector<std::uint8_t> map;
  std::string_view rest = input;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    types.push_back(line.empty() ? 1 : line[0] % 8);
    scores.push_back(line.empty() ? 0.0f : static_cast<float>(line[0]) / static_cast<float>(line.size() - 1));
    tokens.push_back(line.substr(line.empty() ? 0 : 1));
    if (tokens.back().find(' ') != std::string_view::npos) merges.push_back(tokens.back());
  }
  text::VocabularySpec spec;
  spec.model = model;
  spec.pre = text::kPreTokenizers[input.size() % text::kPreTokenizers.size()].name;
  if (model == "whitespace") {
    spec.pre = model;
    spec.lowercase = input.size() % 2 == 0;
  }
  spec.tokens = tokens;
  spec.types = types;
  if (model == "llama" || model == "plamo2") spec.scores = scores;
  if (model == "bert" || model == "t5") spec.unk = 0;
  if (model == "t5") {
    // A map that says its right size, so that its units are walked.
    spec.scores = scores;
    spec.remove_extra_whitespaces = input.size() % 2 == 0;
    spec.add_space_prefix = input.size() % 3 == 0;
    map = {static_cast<std::uint8_t>(input.size() / 2 & 0xfc), 0, 0, 0};
    for (const char c : input) map.push_back(static_cast<std::uint8_t>(c));
    spec.character_map = map;
  }
  spec.merges = merges;
  // Ids and switches that may not suit the vocabulary.
  const unsigned form = input.empty() ? 0 : static_cast<unsigned char>(input.front());
  const std::int32_t id = static_cast<std::int32_t>(form % 16) - 1;
  if ((form & 16u) != 0) spec.bos = spec.sep = id;
  if ((form & 32u) != 0) spec.eos = spec.infill[0] = id;
  if ((form & 64u) != 0) spec.add_bos = spec.add_sep = true;
  if ((form & 128u) != 0) spec.add_eos = true;
  // Models whose tokens take white space along.
  constexpr std::string_view kNames[] = {"", "PHI-3 mini", "modern-bert"};
  spec.name = kNames[form % 3];
  if (form == 193) spec.model = spec.pre = "none";
  if (form == 201) types.push_back(1), spec.types = types;
  if (form == 225) spec.pre = "none";
  if (const auto t = text::Tokenizer::make(spec)) {
    encode_and_back(*t, input, false);
    stream(*t, input);
  }
}

/// SmallUnigram with a map that drops, changes and lengthens characters.
struct SmallMapped : zrt::test::SmallUnigram {
  SmallMapped() {
    static const std::vector<std::uint8_t> bytes = zrt::test::CharacterMapWriter({{"\t", " "},
                                                                                  {"W", "w"},
                                                                                  {"\xc3\xa9", "e"},
                                                                                  {"\xe2\x80\x8b", ""},
                                                                                  {"...", "."},
                                                                                  {"..", "l"},
                                                                                  {"\xc2\xbd", "1 2"}})
                                                       .bytes();
    spec.character_map = bytes;
  }
};

// What a pre-tokenizer cuts joins to the text again.
void cut_by(const text::PreTokenizerEntry& entry, std::string_view input) {
  struct Work {
    std::string_view rest;
    bool joined = true;
  } work{input};
  (void)text::detail::cut(entry.stages, input, {&work, [](void* context, std::string_view piece) noexcept {
                                                  Work& w = *static_cast<Work*>(context);
                                                  w.joined =
                                                      w.joined && !piece.empty() && w.rest.data() == piece.data();
                                                  w.rest.remove_prefix(piece.size());
                                                  return w.joined;
                                                }});
  if (!work.joined || !work.rest.empty()) __builtin_trap();
}

void both_ways(const text::Tokenizer& t, std::string_view input, bool lossless) {
  encode_and_back(t, input, lossless);
  stream(t, input);
}

template <class Small> const text::Tokenizer& tokenizer_of() {
  static const Small vocabulary;
  static const text::Tokenizer made = text::Tokenizer::make(vocabulary.spec).value();
  return made;
}

// Built once: making a vocabulary takes longer than reading a text by it.
const std::array<text::Tokenizer, 5>& byte_bpe() {
  static const zrt::test::SmallByteBpe gpt2("gpt-2"), llama3("llama-bpe"), qwen35("qwen35"), deepseek("deepseek-llm"),
      falcon("falcon");
  static const std::array<text::Tokenizer, 5> made{
      text::Tokenizer::make(gpt2.spec).value(), text::Tokenizer::make(llama3.spec).value(),
      text::Tokenizer::make(qwen35.spec).value(), text::Tokenizer::make(deepseek.spec).value(),
      text::Tokenizer::make(falcon.spec).value()};
  return made;
}

constexpr std::array<std::string_view, 9> kModels{"llama", "gpt2", "gemma4", "whitespace", "bert",
                                                  "t5",    "rwkv", "plamo2", "hybriddna"};

constexpr unsigned kOwn = 5;  // vocabularies of models of one kind
constexpr unsigned kSmall = kOwn + 5;
constexpr unsigned kWays = kSmall + static_cast<unsigned>(kModels.size()) + 1;

void small_vocabulary(unsigned which, std::string_view input) {
  switch (which) {
    case 0:
      // The "llama" model reads U+2581 as a space and puts a space behind special tokens.
      return both_ways(tokenizer_of<zrt::test::SmallSentencePiece>(), input,
                       input.find("\xe2\x96\x81") == input.npos && input.find('<') == input.npos);
    case 1:
      return both_ways(tokenizer_of<zrt::test::SmallWordPiece>(), input, false);
    case 2:
      if (all_checks || one_of(3, input)) both_ways(tokenizer_of<SmallMapped>(), input, false);
      if (!all_checks && one_of(3, input)) return;
      return both_ways(tokenizer_of<zrt::test::SmallUnigram>(), input, false);
    case 3:
      return both_ways(tokenizer_of<zrt::test::SmallRwkv>(), input, true);
    case 4:
      // The model "plamo2" drops marks of byte order.
      return both_ways(tokenizer_of<zrt::test::SmallPlamo2>(), input, input.find("\xef\xbb\xbf") == input.npos);
    default:
      return both_ways(byte_bpe()[which - kOwn], input, true);
  }
}

// A small vocabulary, one made of the input, or a pre-tokenizer alone.
void one_of_all(unsigned which, std::string_view input) {
  if (which < kSmall) return small_vocabulary(which, input);
  if (which < kSmall + kModels.size()) return strange_vocabulary(input, kModels[which - kSmall]);
  cut_by(text::kPreTokenizers[input.size() % text::kPreTokenizers.size()], input);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // Every pre-tokenizer once: which of them an input meets is a matter of its length.
  for (const text::PreTokenizerEntry& entry : text::kPreTokenizers)
    cut_by(entry, "it's ABCd \xcc\x81x  12345 IMGIMGABZ <sentinel:1>\t !/\n  ~\xe4\xb8\xad\xed\x95\x9c     ");
  // Words of characters, in lower case and as they are.
  const std::string_view words = "\1a\n\1b\n\1a b\n\1ab\n\1A";
  for (const std::string_view model : {"gemma4", "whitespace"})
    for (const std::size_t size : {words.size(), words.size() - 1}) strange_vocabulary(words.substr(0, size), model);
  strange_vocabulary("\1<dna>\n\1</dna>\n\1<oov>\n\1<dna>acgtacgt</dna>\n\1ACGTAC\xee\x80\x80", "hybriddna");
  // Every model with ids and switches, right and wrong.
  for (const std::string_view model : kModels)
    for (const char form : {'\x11', '\x19', '\x21', '\x31', '\x71', '\x41', '\xb1', '\x81', '\xc1', '\xc9', '\xe1'})
      strange_vocabulary(form + std::string("a\n\1b\n\1a b\n\1ab\n\1c\n"), model);
  // Every way once, by a text of words, numbers, markup and other scripts.
  for (unsigned way = 0; way < kWays; ++way) one_of_all(way, "");
  for (unsigned way = 0; way < kWays; ++way)
    one_of_all(way, "\1hello world 12345\n\1<tool>\xe4\xbd\xa0\xc3\xa9!\n\2a b\n\6<0x41>\n\xf0\x9f\x98\x80  ab\n");
  all_checks = false;
  return 0;
}

// The last byte says what reads the others: one reader an input, so that inputs are many.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  one_of_all(data[size - 1] % kWays, {reinterpret_cast<const char*>(data), size - 1});
  return 0;
}
