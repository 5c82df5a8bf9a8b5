// SPDX-License-Identifier: Apache-2.0
// tests/unit/stop_strings.cpp: stop strings across pieces of text; nothing of a match or after it gets out.
#include <zrt/core/error_stream.hpp>
#include <zrt/engine/stop_strings.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <data/models/tiny_models.hpp>
#include <list>
#include <ranges>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace stop_strings_test {
namespace {

using namespace zrt;

struct Streamed {
  std::string text;
  bool matched = false;
};

Streamed stream(const std::vector<std::string_view>& stops, const std::vector<std::string>& pieces) {
  StopStrings s(system_allocator());
  EXPECT_TRUE(s.set(stops));
  Streamed out;
  for (const std::string& piece : pieces) {
    const auto sure = s.feed(piece);
    EXPECT_TRUE(sure);
    out.text += *sure;
    if (s.matched()) break;
  }
  out.matched = s.matched();
  const auto rest = s.finish("");
  EXPECT_TRUE(rest);
  out.text += *rest;
  return out;
}

TEST(StopStrings, WithoutAnyTextPassesThrough) {
  const Streamed s = stream({}, {"a", "", "bc"});
  EXPECT_EQ(s.text, "abc");
  EXPECT_FALSE(s.matched);
}

TEST(StopStrings, MatchesAcrossPieces) {
  EXPECT_EQ(stream({"END"}, {"one E", "N", "D two"}).text, "one ");
  EXPECT_TRUE(stream({"END"}, {"one E", "N", "D two"}).matched);
  EXPECT_EQ(stream({"END"}, {"one E", "NOT"}).text, "one ENOT");
  EXPECT_EQ(stream({"\n\n"}, {"a\n", "b\n", "\nc"}).text, "a\nb");
}

TEST(StopStrings, HoldsBackOnlyWhatMayBegin) {
  StopStrings s(system_allocator());
  const std::string_view stops[] = {"abab", "bc"};
  ASSERT_TRUE(s.set(stops));
  EXPECT_EQ(*s.feed("xab"), "x");
  EXPECT_EQ(*s.feed("a"), "") << "aba may become abab";
  EXPECT_EQ(*s.feed("a"), "aba") << "only the last a may begin one";
  EXPECT_EQ(*s.feed("b"), "");
  EXPECT_EQ(*s.feed("c"), "a");
  EXPECT_TRUE(s.matched());
  EXPECT_EQ(*s.feed("more"), "");
  EXPECT_EQ(s.held(), "");
  EXPECT_EQ(*s.finish("more"), "");
}

TEST(StopStrings, TheEarlierOfTwoMatchesCuts) {
  EXPECT_EQ(stream({"world", "lo w"}, {"hello world"}).text, "hel");
  EXPECT_EQ(stream({"aab"}, {"a", "a", "a", "b"}).text, "a");
}

TEST(StopStrings, TheMatchThatEndsFirstCutsHoweverTheTextComes) {
  const std::vector<std::string_view> lists[] = {{"abcdef", "cd"}, {"cd", "abcdef"},    {"bcd", "cd"},
                                                 {"cd", "bcd"},    {"abcd", "bc", "c"}, {"efg", "fg", "xabcdefgh"}};
  const char* expected[] = {"xab", "xab", "xa", "xa", "xa", "xabcd"};
  const std::string text = "xabcdefgh";
  for (std::size_t i = 0; i < std::size(lists); ++i)
    for (std::size_t step = 1; step <= text.size(); ++step) {
      std::vector<std::string> pieces;
      for (std::size_t at = 0; at < text.size(); at += step) pieces.push_back(text.substr(at, step));
      const Streamed s = stream(lists[i], pieces);
      EXPECT_EQ(s.text, expected[i]) << i << " by " << step;
      EXPECT_TRUE(s.matched) << i << " by " << step;
    }
}

/// The last text may begin one stop string while another's beginning is still held back.
TEST(StopStrings, TheEndGivesOutAllThatWasHeldBack) {
  const std::string_view stops[] = {"abc", "\xef\xbf\xbdx"};
  StopStrings s(system_allocator());
  ASSERT_TRUE(s.set(stops));
  EXPECT_EQ(*s.feed("xab"), "x");
  EXPECT_EQ(*s.finish("\xef\xbf\xbd"), "ab\xef\xbf\xbd");
  EXPECT_FALSE(s.matched());
  StopStrings t(system_allocator());
  ASSERT_TRUE(t.set(stops));
  EXPECT_EQ(*t.feed("xab"), "x");
  EXPECT_EQ(*t.finish("cd"), "") << "the last text may complete one, too";
  EXPECT_TRUE(t.matched());
}

TEST(StopStrings, ResumesWithWhatAnotherHeldBack) {
  const std::string_view stops[] = {"abc"};
  StopStrings same(system_allocator());
  ASSERT_TRUE(same.set(stops));
  ASSERT_TRUE(same.resume("ab"));
  EXPECT_EQ(same.held(), "ab");
  EXPECT_EQ(*same.feed("c"), "");
  EXPECT_TRUE(same.matched());
  StopStrings none(system_allocator());
  ASSERT_TRUE(none.set({}));
  ASSERT_TRUE(none.resume("ab"));
  EXPECT_EQ(*none.feed("c"), "abc");
  EXPECT_EQ(*none.feed("d"), "d");
}

TEST(StopStrings, AnEmptyOneAndPartsOfCharactersAreRefused) {
  // The second half of a character would let its first half out.
  for (const std::string_view bad : {"", "\xa9", "\xc3", "a\xe2\x82", "\xc0\xaf", "\xed\xa0\x80"}) {
    StopStrings s(system_allocator());
    const std::string_view stops[] = {"a", bad};
    const auto r = s.set(stops);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::invalid_argument);
  }
  StopStrings s(system_allocator());
  const std::string_view stops[] = {"\xc3\xa9", "\xf0\x9f\x98\x80", std::string_view("\0", 1)};
  EXPECT_TRUE(s.set(stops));
}

/// Against a plain search of all text so far, on texts of two letters, where prefixes overlap a lot.
TEST(StopStrings, EqualsAPlainSearchOnRandomText) {
  test::TinyRandom random(8);
  int matches = 0;
  for (int run = 0; run < 20000; ++run) {
    const auto letters = [&](std::uint32_t count) {
      std::string text;
      for (std::uint32_t i = 0; i < count; ++i) text += static_cast<char>('a' + random.below(2));
      return text;
    };
    std::vector<std::string> owned;
    for (std::uint32_t i = 1 + random.below(3); i > 0; --i) owned.push_back(letters(1 + random.below(8)));
    const std::vector<std::string_view> stops(owned.begin(), owned.end());
    StopStrings s(system_allocator());
    ASSERT_TRUE(s.set(stops));
    std::string all, out;
    for (int piece = 0; piece < 12 && !s.matched(); ++piece) {
      const std::string text = letters(random.below(5));
      all += text;
      const auto sure = s.feed(text);
      ASSERT_TRUE(sure);
      out += *sure;
      std::size_t first = std::string::npos;
      // Letter by letter: at the first letter that ends any, the longest of those that end there counts.
      for (std::size_t size = 1; size <= all.size() && first == std::string::npos; ++size)
        for (std::string_view stop : stops)
          if (std::string_view(all).substr(0, size).ends_with(stop)) first = std::min(first, size - stop.size());
      ASSERT_EQ(s.matched(), first != std::string::npos) << all;
      if (s.matched()) {
        ASSERT_EQ(out + std::string(s.held()), all.substr(0, first)) << all;
        ++matches;
      } else {
        ASSERT_EQ(out + std::string(s.held()), all);
      }
    }
  }
  EXPECT_GT(matches, 10000);
}

TEST(StopStrings, FailureToAllocateIsAnError) {
  Allocator none = system_allocator();
  none.allocate = [](void*, std::size_t, std::size_t) noexcept -> void* { return nullptr; };
  StopStrings s(none);
  const std::string_view stops[] = {"a stop string that needs memory of its own"};
  const auto r = s.set(stops);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::out_of_memory);
}

/// What a request's stop strings may be given as.
TEST(StringList, ViewsAnyRangeOfStrings) {
  const auto joined = [](const StringList& list) {
    std::string all;
    const auto done = list.each([&](std::string_view text) noexcept -> Result<void> {
      all += std::string(text) + "|";
      return {};
    });
    EXPECT_TRUE(done);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(all, '|')), list.size());
    return all;
  };
  const std::vector<std::string> strings{"a", "bc"};
  const std::vector<const char*> pointers{"a", "bc"};
  const std::array<std::string_view, 2> views{"a", "bc"};
  const char* array[] = {"a", "bc"};
  const std::string_view view_array[] = {"a", "bc"};
  const std::list<std::string> list{"a", "bc"};
  const std::set<std::string> set{"bc", "a"};
  const std::vector<std::string> gapped{"a", "", "bc"};
  auto filtered = gapped | std::views::filter([](const std::string& text) { return !text.empty(); });
  for (const std::string& all :
       {joined(strings), joined(pointers), joined(views), joined(array), joined(view_array), joined(list), joined(set),
        joined(filtered), joined(std::span(views)), joined(std::span(strings))})
    EXPECT_EQ(all, "a|bc|");
  EXPECT_TRUE(StringList().empty());
  EXPECT_EQ(joined({"a", "b"}), "a|b|");
  EXPECT_EQ(joined({std::string("a")}), "a|");
  EXPECT_EQ(joined("end"), "end|");
  EXPECT_EQ(joined(std::string("end")), "end|");
  EXPECT_EQ(joined({}), "");
  const auto first_fails =
      StringList(list).each([](std::string_view) noexcept -> Result<void> { return fail(Errc::not_found, "no more"); });
  ASSERT_FALSE(first_fails);
  static_assert(!std::is_constructible_v<StringList, const std::vector<int>&>);
}

TEST(ErrorStream, WritesCodeTextAndPlace) {
  std::ostringstream out;
  out << Error::of(Errc::invalid_file, "a block is cut").at_offset(12) << '\n'
      << Error::of(Errc::spec_violation, "an index").at_instruction(3, 7);
  EXPECT_EQ(out.str(), "invalid_file: a block is cut (at byte 12)\nspec_violation: an index (instruction 3)");
}

}  // namespace
}  // namespace stop_strings_test
