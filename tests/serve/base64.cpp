// SPDX-License-Identifier: Apache-2.0
// tests/serve/base64.cpp: the examples of RFC 4648, and texts that are none.
#include <gtest/gtest.h>

#include <base64.hpp>

namespace base64_test {
namespace {

using namespace program::server;

TEST(Base64, GivesBackWhatItTook) {
  constexpr std::pair<const char*, const char*> kExamples[] = {{"", ""},
                                                               {"f", "Zg=="},
                                                               {"fo", "Zm8="},
                                                               {"foo", "Zm9v"},
                                                               {"foob", "Zm9vYg=="},
                                                               {"fooba", "Zm9vYmE="},
                                                               {"foobar", "Zm9vYmFy"},
                                                               {"\xfb\xff\xfe", "+//+"}};
  for (const auto& [bytes, text] : kExamples) {
    EXPECT_EQ(base64_of(bytes), text);
    EXPECT_EQ(bytes_of_base64(text), bytes);
  }
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(bytes_of_base64(base64_of(all)), all);
}

TEST(Base64, RefusesWhatNoBytesGive) {
  for (const char* text : {"Z", "Zg", "Zg=", "Zm9", "=",
                           "==", "===", "====", "Z===", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9v", "Zm9v\n", "-__-", "Zm9*"})
    EXPECT_FALSE(bytes_of_base64(text)) << text;
}

}  // namespace
}  // namespace base64_test
