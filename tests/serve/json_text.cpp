// SPDX-License-Identifier: Apache-2.0
// tests/serve/json_text.cpp: a text in quotes, byte by byte what nlohmann's JSON makes of it.
#include <gtest/gtest.h>

#include <api_error.hpp>
#include <json_text.hpp>
#include <random>

namespace json_text_test {
namespace {

using namespace program::server;

void expect_same(std::string_view text) {
  std::string quoted = "before";
  append_quoted(quoted, text);
  ASSERT_EQ(quoted, "before" + text_of(Json(text))) << testing::PrintToString(text);
}

TEST(JsonText, EscapesEachByteAsTheTreeDoes) {
  expect_same("");
  for (int c = 0; c < 256; ++c)
    for (const char* around : {"", "a", "\xc3\xa9", "\xf0\x9f\x98\x80"})
      expect_same(around + std::string(1, static_cast<char>(c)) + around);
}

TEST(JsonText, RepairsWhatIsNoUtf8AsTheTreeDoes) {
  // Every begin of one to three bytes that means something of its own, with every byte behind it.
  constexpr std::string_view kFirst[] = {
      "\xc0",     "\xc1",         "\xc2",         "\xdf",         "\xe0",         "\xe1",         "\xec",
      "\xed",     "\xee",         "\xef",         "\xf0",         "\xf1",         "\xf3",         "\xf4",
      "\xf5",     "\xff",         "\x80",         "\xbf",         "\xe0\xa0",     "\xe0\x9f",     "\xed\x9f",
      "\xed\xa0", "\xf0\x90",     "\xf0\x8f",     "\xf4\x8f",     "\xf4\x90",     "\xef\xbf",     "\xe1\x80",
      "\xf1\x80", "\xf0\x90\x80", "\xf4\x8f\xbf", "\xf1\x80\x80", "\xf1\x80\xc3", "\xe1\x80\xe1", "\xf4\x90\x80"};
  for (const std::string_view first : kFirst) {
    expect_same(first);
    for (int c = 0; c < 256; ++c)
      for (const char* behind : {"", "\x80", "\xbf\xbf", "\"", "z"})
        expect_same(std::string(first) + static_cast<char>(c) + behind);
  }
}

TEST(JsonText, DrawnBytesAreWhatTheTreeMakesOfThem) {
  // Of bytes that are near each other in what they mean, so that long sequences begin, break and go on.
  constexpr std::string_view kNear = "a\"\\\n\x01\x7f\x80\x8f\x90\x9f\xa0\xbf\xc2\xe0\xe1\xed\xef\xf0\xf1\xf4\xf5\xff";
  std::mt19937_64 r(7);
  for (int i = 0; i < 100'000; ++i) {
    std::string text;
    for (auto left = r() % 12; left != 0; --left)
      text += r() % 4 == 0 ? static_cast<char>(r()) : kNear[r() % kNear.size()];
    ASSERT_NO_FATAL_FAILURE(expect_same(text));
  }
}

}  // namespace
}  // namespace json_text_test
