// SPDX-License-Identifier: Apache-2.0
// tests/unit/tokenizer_pre.cpp: how pre-tokenizers cut, and the Unicode tables that they ask.
#include <zrt/text/pre_tokenizers.hpp>

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <string>
#include <string_view>
#include <vector>

namespace tokenizer_pre_test {
namespace {

namespace text = zrt::text;
using Pieces = std::vector<std::string>;

Pieces cut(std::string_view pre, std::string_view input) {
  Pieces pieces;
  const text::PreTokenizerEntry* entry = text::find_pre_tokenizer(pre);
  if (entry == nullptr) {
    ADD_FAILURE() << "no pre-tokenizer " << pre;
    return pieces;
  }
  const auto take = [](void* context, std::string_view piece) noexcept {
    static_cast<Pieces*>(context)->emplace_back(piece);
    return true;
  };
  EXPECT_TRUE(text::detail::cut(entry->stages, input, {&pieces, take}));
  return pieces;
}

struct Case {
  std::string_view input;
  Pieces pieces;
};

void check(std::string_view pre, const std::vector<Case>& cases) {
  for (const Case& c : cases) EXPECT_EQ(cut(pre, c.input), c.pieces) << pre << ": " << testing::PrintToString(c.input);
}

// What the rules of Llama 3 and Qwen 2 have in common.
const std::vector<Case> kSharedCases{
    {"", {}},
    {"Hello world", {"Hello", " world"}},
    {"I'm you're he'll we've she'd it's don't",
     {"I", "'m", " you", "'re", " he", "'ll", " we", "'ve", " she", "'d", " it", "'s", " don", "'t"}},
    {"I'M YOU'RE HE'Ll WE'vE", {"I", "'M", " YOU", "'RE", " HE", "'Ll", " WE", "'vE"}},
    {"'x 'tis", {"'x", " '", "tis"}},
    {"'re", {"'re"}},
    {"'r", {"'r"}},
    {"'", {"'"}},
    {"l'\xc3\xa9t\xc3\xa9", {"l", "'\xc3\xa9t\xc3\xa9"}},
    {"(word)", {"(word", ")"}},
    {"\tword", {"\tword"}},
    {"\nword", {"\n", "word"}},
    {"\rword", {"\r", "word"}},
    {"  word", {" ", " word"}},
    {"a  ", {"a", "  "}},
    {"a   b", {"a", "  ", " b"}},
    {"a \t b", {"a", " \t", " b"}},
    {"a\t\tb", {"a", "\t", "\tb"}},
    {"   1", {"  ", " ", "1"}},
    {" 1", {" ", "1"}},
    {"a\n", {"a", "\n"}},
    {"a\n\n\nb", {"a", "\n\n\n", "b"}},
    {"a  \n  b", {"a", "  \n", " ", " b"}},
    {"a \n \r\n\t b", {"a", " \n \r\n", "\t", " b"}},
    {"\n \n", {"\n \n"}},
    {"...\n\nx", {"...\n\n", "x"}},
    {" ...\r\n x", {" ...\r\n", " x"}},
    {"!? x", {"!?", " x"}},
    {"  !", {" ", " !"}},
    {"\t!", {"\t", "!"}},
    {"a=b;", {"a", "=b", ";"}},
    {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x80\x82", {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "\xe3\x80\x82"}},
    {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e 1", {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", " ", "1"}},
    {"\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4 \xed\x85\x8d", {"\xed\x95\x9c\xea\xb5\xad\xec\x96\xb4", " \xed\x85\x8d"}},
    // Emoji are other signs; a zero-width joiner between them is one too.
    {"hi \xf0\x9f\x98\x80!", {"hi", " \xf0\x9f\x98\x80!"}},
    {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9 x", {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9", " x"}},
    {"\xf0\x9f\x98\x80x", {"\xf0\x9f\x98\x80x"}},
    // No-break and ideographic spaces are white space, and may lead a word.
    {"a\xc2\xa0"
     "b",
     {"a",
      "\xc2\xa0"
      "b"}},
    {"a\xe3\x80\x80", {"a", "\xe3\x80\x80"}},
    {"a\xe3\x80\x80\xe3\x80\x80"
     "b",
     {"a", "\xe3\x80\x80",
      "\xe3\x80\x80"
      "b"}},
    {"a\xe3\x80\x80!", {"a", "\xe3\x80\x80", "!"}},
    {"a\xe2\x80\x8b"
     "b",
     {"a",
      "\xe2\x80\x8b"
      "b"}},
    // Undecodable bytes are signs of their own.
    {"a\xff\xfe"
     "b",
     {"a", "\xff\xfe", "b"}},
    {"a\xff"
     "b",
     {"a",
      "\xff"
      "b"}},
    {"\xe6\x97", {"\xe6\x97"}},
};

TEST(TokenizerPre, Llama3) {
  check("llama-bpe", kSharedCases);
  check("llama-bpe", {
                         {"1", {"1"}},
                         {"123", {"123"}},
                         {"1234567", {"123", "456", "7"}},
                         {"3.14159", {"3", ".", "141", "59"}},
                         {"x12 345", {"x", "12", " ", "345"}},
                         {"\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4", {"\xd9\xa1\xd9\xa2\xd9\xa3", "\xd9\xa4"}},
                         {"\xc2\xbd\xe2\x85\xa7\xc2\xb2", {"\xc2\xbd\xe2\x85\xa7\xc2\xb2"}},
                         // A combining mark ends a word and may lead the next one.
                         {"e\xcc\x81t", {"e", "\xcc\x81t"}},
                         {"e\xcc\x81 t", {"e", "\xcc\x81", " t"}},
                     });
  // The same words, of vocabularies whose merges make up every one of them.
  for (const std::string_view name : {"dbrx", "smaug-bpe"}) {
    check(name, kSharedCases);
    check(name, {{"1234567", {"123", "456", "7"}}});
    const text::PreTokenizerEntry* entry = text::find_pre_tokenizer(name);
    ASSERT_NE(entry, nullptr);
    EXPECT_FALSE(entry->traits.ignore_merges);
    EXPECT_FALSE(entry->traits.adds_bos);
  }
}

TEST(TokenizerPre, Qwen2) {
  check("qwen2", kSharedCases);
  check("qwen2", {
                     {"123", {"1", "2", "3"}},
                     {"x12 34", {"x", "1", "2", " ", "3", "4"}},
                     {"3.14", {"3", ".", "1", "4"}},
                     {"\xd9\xa1\xd9\xa2", {"\xd9\xa1", "\xd9\xa2"}},
                     {"e\xcc\x81t", {"e", "\xcc\x81t"}},
                 });
}

TEST(TokenizerPre, Qwen35) {
  check("qwen35", kSharedCases);
  check("qwen35",
        {
            {"123", {"1", "2", "3"}},
            {"e\xcc\x81t", {"e\xcc\x81t"}},
            {"\xcc\x81t", {"\xcc\x81t"}},
            {"!\xcc\x81", {"!\xcc\x81"}},
            {"\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d", {"\xe0\xa4\xb9\xe0\xa4\xbf\xe0\xa4\xa8\xe0\xa5\x8d"}},
        });
}

TEST(TokenizerPre, Gpt2) {
  check("gpt-2", {
                     {"Hello world", {"Hello", " world"}},
                     {"it's IT'S", {"it", "'s", " IT", "'", "S"}},
                     {" 's", {" '", "s"}},
                     {"we've'll", {"we", "'ve", "'ll"}},
                     {"a 123 4", {"a", " 123", " 4"}},
                     {"(x)", {"(", "x", ")"}},
                     {"\tx", {"\t", "x"}},
                     {"a  b", {"a", " ", " b"}},
                     {"a\n\nb", {"a", "\n", "\n", "b"}},
                     {"a \n", {"a", " \n"}},
                     {" ", {" "}},
                     {"e\xcc\x81", {"e", "\xcc\x81"}},
                     {"'", {"'"}},
                 });
}

TEST(TokenizerPre, DeepSeekLlm) {
  check("deepseek-llm", {
                            {"Hello world!", {"Hello", " world", "!"}},
                            {"a\r\nb", {"a", "\r", "\n", "b"}},
                            {"a  b", {"a", " ", " b"}},
                            {"a  ", {"a", "  "}},
                            {"12 345", {"12", " ", "345"}},
                            {"x\xe6\x97\xa5\xe6\x9c\xac"
                             "1",
                             {"x", "\xe6\x97\xa5\xe6\x9c\xac", "1"}},
                            {"\xed\x95\x9c", {"\xed\x95\x9c"}},
                            {"\tword", {"\tword"}},
                            {" ...", {" ..."}},
                            // Arabic letters are none of its classes: what lies between matches stays one piece.
                            {"\xd8\xb9  \xd8\xb9", {"\xd8\xb9  \xd8\xb9"}},
                        });
}

TEST(TokenizerPre, DigitsApart) {
  check("refact", {{"a 12b", {"a", " ", "1", "2", "b"}}, {"it's", {"it", "'s"}}});
  check("command-r", {{"12", {"1", "2"}}});
  check(
      "falcon",
      {{"12345 `x", {"123", "45", " ", "`", "x"}}, {"a 1234", {"a", " ", "123", "4"}}, {"a... b", {"a", "...", " b"}}});
  check("default", {{"12345 `x", {"123", "45", " `", "x"}}, {"a 1234", {"a", " ", "123", "4"}}});
  check("", {{"a.b", {"a", ".", "b"}}});
}

TEST(TokenizerPre, LaterVocabularies) {
  check("tekken", {{"HTMLParser's", {"HTMLParser", "'s"}},
                   {"fooBarBAZ", {"foo", "Bar", "BAZ"}},
                   {"A\xc3\xa9"
                    "B \xc3\x89"
                    "COLE",
                    {"A\xc3\xa9", "B", " \xc3\x89", "COLE"}},
                   {"12 a1", {"1", "2", " a", "1"}},
                   {"//\n/x", {"//\n/", "x"}},
                   {"e\xcc\x81t", {"e", "\xcc\x81t"}}});
  check("gpt-4o", {{"it's IT'S", {"it's", " IT'S"}},
                   {"fooBar's", {"foo", "Bar's"}},
                   {"1234", {"123", "4"}},
                   {"ABC\xc3\xa9"
                    "D",
                    {"ABC\xc3\xa9", "D"}}});
  check("granite-embed-multi-97m", {{"e\xcc\x81tE\xcc\x81T", {"e\xcc\x81t", "E\xcc\x81", "T"}},
                                    {"\xcc\x81"
                                     "ABC",
                                     {"\xcc\x81", "ABC"}},
                                    {"!!\xcc\x81", {"!!\xcc\x81"}}});
  check("tiny_aya", {{"1234567", {"1", "234", "567"}},
                     {"a 1234", {"a", " ", "1", "234"}},
                     {"e\xcc\x81t's", {"e\xcc\x81t's"}},
                     {"  12", {" ", " ", "12"}}});
  check("superbpe", {{"ab 1234567 c", {"ab ", "1", "234", "567", " c"}},
                     {"\xc2\xbd"
                      "1234\xc2\xbd",
                      {"\xc2\xbd"
                       "1",
                       "234\xc2\xbd"}},
                     {"12", {"12"}}});
  check("deepseek-v3", {{"#include <x>", {"#include", " <", "x", ">"}},
                        {"~~ ~a ~\xc3\xa9", {"~~", " ", "~a", " ", "~\xc3\xa9"}},
                        {"1234 \xe6\x97\xa5\xe6\x9c\xac\xe3\x82\xab a",
                         {"123", "4", " ", "\xe6\x97\xa5\xe6\x9c\xac\xe3\x82\xab", " a"}},
                        {"a\xcc\x81 b!!\n\n", {"a\xcc\x81", " b", "!!\n\n"}}});
  check("deepseek-coder", {{"a\nb  c", {"a", "\n", "b", " ", " c"}},
                           {"x.. 12", {"x", "..", " ", "1", "2"}},
                           {"\xe6\x97\xa5\xe6\x9c\xac"
                            "a",
                            {"\xe6\x97\xa5\xe6\x9c\xac", "a"}}});
  check("afmoe", {{"x1234  12", {"x", "1", "234", " ", " ", "12"}},
                  {"\xed\x95\x9c\xea\xb5\xad a", {"\xed\x95\x9c\xea\xb5\xad", " a"}}});
  check("youtu", {{"\xed\x95\x9c\xea\xb5\xad\xe6\x97\xa5\xe6\x9c\xac\xe3\x84\x85\xe3\x80\x81",
                   {"\xed\x95\x9c\xea\xb5\xad", "\xe6\x97\xa5\xe6\x9c\xac", "\xe3\x84\x85", "\xe3\x80\x81"}},
                  {"it's 12", {"it's", " ", "1", "2"}}});
  check("minicpm5", {{"  1234", {"  ", "123", "4"}}, {"a b", {"a", " b"}}});
  check("seed-coder", {{"!!\n\na", {"!!", "\n\n", "a"}}, {"12", {"1", "2"}}});
  check("exaone-moe",
        {{"a bc d  e", {"a bc d", " ", " e"}}, {"x!/\n", {"x", "!/\n"}}, {"a\xcc\x81 b 1", {"a\xcc\x81 b", " ", "1"}}});
  check("kimi-k2", {{"\xe4\xb8\xad\xe6\x96\x87"
                     "ab  \xe4\xb8\xad",
                     {"\xe4\xb8\xad\xe6\x96\x87", "ab", " ", " ", "\xe4\xb8\xad"}},
                    {"it's", {"it's"}},
                    {"123 4", {"123", " ", "4"}}});
  check("jais-2", {{"            x", {"        ", "  ", " ", " x"}},
                   {"       ", {"    ", "  ", " "}},
                   {" \n  a", {" \n", " ", " a"}}});
  check("bloom", {{"Hi, you!  ok", {"Hi", ",", " you", "! ", " ok"}}, {"a.b", {"a", ".", "b"}}});
  check("viking", {{"a1 22", {"a", "1", " ", "2", "2"}}});
  check("chameleon", {{"IMGIMGABCDZIMGIMGABCDEZ", {"IMGIMGABCDZ", "IMGIMGABCDEZ"}},
                      {"<sentinel:1>x<sentinel:>", {"<", "sentinel", ":", "1", ">", "x", "<", "sentinel", ":", ">"}},
                      {"      a\tb", {"    ", "  ", "a", "\t", "b"}},
                      {"a-b1", {"a", "-", "b", "1"}}});
  check("gemma4", {{"a b\n\nc", {"a b", "\n\n", "c"}}});
}

TEST(TokenizerPre, UnknownNameIsNull) { EXPECT_EQ(text::find_pre_tokenizer("gpt-3"), nullptr); }

TEST(TokenizerPre, PiecesJoinToTheText) {
  const std::string_view alphabet[] = {"a",           "B",        "'",
                                       "s",           " ",        "\n",
                                       "\r",          "\t",       "1",
                                       ".",           "\xc3\xa9", "\xe6\x97\xa5",
                                       "\xcc\x81",    "\xff",     "\xf0\x9f\x98\x80",
                                       "\xe3\x80\x80"};
  std::uint32_t seed = 7;
  for (int round = 0; round < 2000; ++round) {
    std::string input;
    for (int i = 0; i < 12; ++i) {
      seed = seed * 1664525u + 1013904223u;
      input += alphabet[seed >> 28];
    }
    for (const auto& entry : text::kPreTokenizers) {
      std::string joined;
      for (const std::string& piece : cut(entry.name, input)) {
        EXPECT_FALSE(piece.empty());
        joined += piece;
      }
      EXPECT_EQ(joined, input) << entry.name;
    }
  }
}

TEST(TokenizerPre, SinkStopsTheCut) {
  for (const auto& entry : text::kPreTokenizers) {
    int left = 2;
    const auto take = [](void* context, std::string_view) noexcept { return --*static_cast<int*>(context) > 0; };
    EXPECT_FALSE(text::detail::cut(entry.stages, "a1. b2.\n c3.", {&left, take})) << entry.name;
    EXPECT_EQ(left, 0) << entry.name;
  }
}

TEST(UnicodeTables, AgreeWithUtf8proc) {
  // What only the later version of Unicode assigns is unassigned to the other.
  int only_ours = 0;
  int only_theirs = 0;
  for (utf8proc_int32_t c = 0; c < 0x110000; ++c) {
    const auto ours = text::detail::properties_of(static_cast<char32_t>(c));
    const std::string_view theirs = utf8proc_category_string(c);
    const bool other = theirs[0] == 'Z' || theirs[0] == 'C';
    const char named = ours.letter()        ? 'L'
                       : ours.mark()        ? 'M'
                       : ours.number()      ? 'N'
                       : ours.punctuation() ? 'P'
                       : ours.symbol()      ? 'S'
                                            : 'X';
    if (theirs == "Cn") {
      only_ours += named != 'X' ? 1 : 0;
    } else if (named == 'X' && !other) {
      ++only_theirs;
    } else {
      ASSERT_EQ(named, other ? 'X' : theirs[0]) << std::hex << c;
    }
  }
  EXPECT_LT(only_ours, 6000);
  if (std::string_view(utf8proc_unicode_version()) <= "15.1.0") {
    EXPECT_EQ(only_theirs, 0);
  }
  for (const std::uint32_t space :
       {0x9u, 0xdu, 0x20u, 0x85u, 0xa0u, 0x1680u, 0x2000u, 0x200au, 0x2028u, 0x2029u, 0x202fu, 0x205fu, 0x3000u})
    EXPECT_TRUE(text::detail::properties_of(space).space()) << std::hex << space;
  for (const std::uint32_t none : {0x8u, 0xeu, 0x21u, 0x180eu, 0x200bu, 0x2060u, 0xfeffu})
    EXPECT_FALSE(text::detail::properties_of(none).space()) << std::hex << none;
}

// What Unicode 15.0 and 15.1 brought: a face, Chinese characters, an ideographic sign and a vowel sign. llama.cpp, whose
// tables are of 15.1, gives these pieces.
TEST(UnicodeTables, AreAsNewAsLlamaCpps) {
  const std::string face = "\xf0\x9f\xab\xa8";
  const std::string han = "\xf0\xae\xaf\xb0";
  const std::string sign = "\xe2\xbf\xbc";
  const std::string vowel = "\xe0\xb3\xb3";
  const std::string private_use = "\xee\x80\x80";
  check("deepseek-v3", {{"a" + face + "b", {"a", face, "b"}},
                        {"a " + face + sign + "\n" + "b", {"a", " " + face + sign + "\n", "b"}},
                        {"a" + vowel + " b", {"a" + vowel, " b"}}});
  check("llama-bpe", {{han + private_use + han, {han, private_use + han}}, {"!" + han, {"!" + han}}});
}

TEST(UnicodeTables, DecodingAgreesWithUtf8proc) {
  std::uint32_t seed = 3;
  for (int round = 0; round < 200000; ++round) {
    char bytes[4];
    for (char& b : bytes) {
      seed = seed * 1664525u + 1013904223u;
      const std::uint32_t pick = seed >> 24;
      b = static_cast<char>(round % 2 == 0 ? pick : (0x80u | pick));
    }
    utf8proc_int32_t expected = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(bytes), 4, &expected);
    const auto found = text::detail::decode({bytes, 4}, 0);
    ASSERT_EQ(found.valid, length > 0);
    if (!found.valid) continue;
    ASSERT_EQ(found.length, static_cast<std::uint32_t>(length));
    ASSERT_EQ(found.value, static_cast<char32_t>(expected));
  }
}

}  // namespace
}  // namespace tokenizer_pre_test
