// SPDX-License-Identifier: Apache-2.0
// tests/unit/json_escape.cpp: strings of traces and of chat templates escape the same characters.
#include <zrt/text/chat/json.hpp>
#include <zrt/trace/json_out.hpp>

#include <gtest/gtest.h>

#include <string>

namespace json_escape_test {

std::string traced(std::string_view text) {
  std::string out;
  const auto sink = [&out](std::string_view part) noexcept -> zrt::Result<void> {
    out += part;
    return {};
  };
  zrt::trace::JsonOut json(sink);
  json.text(text);
  EXPECT_TRUE(json.finish());
  return '"' + out + '"';
}

TEST(JsonEscape, TracesAndTemplatesAgreeOnAscii) {
  std::string all;
  for (char c = 0; c < 0x7f; ++c) all += c;
  zrt::text::chat::TextBuilder out(zrt::system_allocator());
  zrt::text::chat::write_json_string(all, true, out);
  EXPECT_EQ(traced(all), out.view());
}

TEST(JsonEscape, TracesEscapeEachByteThatIsNoAscii) { EXPECT_EQ(traced("\xc3\n\x7f"), R"("\u00c3\n\u007f")"); }

}  // namespace json_escape_test
