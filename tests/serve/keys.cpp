// SPDX-License-Identifier: Apache-2.0
// tests/serve/keys.cpp: tenants of a file, their keys and their quotas.
#include <gtest/gtest.h>

#include <keys.hpp>

namespace keys_test {
namespace {

using namespace program::server;
using namespace std::chrono_literals;

constexpr const char* kFile = R"({"tenants": [
  {"id": "a", "keys": ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"], "concurrent": 2},
  {"id": "c", "keys": ["cccccccccccccccc"], "requests_per_minute": 60, "priority": "batch", "admin": true}]})";

TEST(Keys, FindsTheTenantOfAKey) {
  auto tenants = read_tenants(kFile);
  ASSERT_TRUE(tenants) << tenants.error().text();
  const Keys keys(*tenants);
  EXPECT_FALSE(keys.open());
  EXPECT_EQ(keys.find("bbbbbbbbbbbbbbbb")->id, "a");
  EXPECT_TRUE(keys.find("cccccccccccccccc")->admin);
  EXPECT_EQ(keys.find("cccccccccccccccc")->priority, "batch");
  for (const char* wrong :
       {"", "cccccccccccccccd", "ccccccccccccccc", "ccccccccccccccccc", "cccccccccccccccccccccccccccccccc"})
    EXPECT_FALSE(keys.find(wrong)) << wrong;
  EXPECT_TRUE(Keys({}).find("")->admin);
}

TEST(Keys, RefusesFilesThatMeanNothing) {
  for (const char* text :
       {"", "{", "[]", "{}", R"({"tenants": []})", R"({"tenants": [{"id": "a"}]})",
        R"({"tenants": [{"id": "a", "keys": []}]})", R"({"tenants": [{"id": "a", "keys": ["short"]}]})",
        R"({"tenants": [{"id": "", "keys": ["aaaaaaaaaaaaaaaa"]}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "curcurrent": 1}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "priority": "high"}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}, {"id": "a", "keys": ["bbbbbbbbbbbbbbbb"]}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}, {"id": "b", "keys": ["aaaaaaaaaaaaaaaa"]}]})"}) {
    const auto read = read_tenants(text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(std::string_view(read.error().text()).starts_with("keys: ")) << read.error().text();
  }
}

TEST(Keys, BoundsWhatRunsAtOnce) {
  Keys keys(*read_tenants(kFile));
  const Tenant tenant = *keys.find("aaaaaaaaaaaaaaaa");
  EXPECT_TRUE(keys.begin(tenant, {}).granted);
  EXPECT_TRUE(keys.begin(tenant, {}).granted);
  EXPECT_FALSE(keys.begin(tenant, {}).granted);
  keys.end("a");
  EXPECT_TRUE(keys.begin(tenant, {}).granted);
}

TEST(Keys, BoundsARate) {
  Keys keys(*read_tenants(kFile));
  const Tenant tenant = *keys.find("cccccccccccccccc");
  std::chrono::steady_clock::time_point now{1h};
  for (std::uint32_t i = 0; i < 60; ++i) EXPECT_EQ(keys.begin(tenant, now).left, 59 - i);
  const auto refused = keys.begin(tenant, now);
  EXPECT_FALSE(refused.granted);
  EXPECT_EQ(refused.retry_after, 1);
  now += 2s;
  EXPECT_TRUE(keys.begin(tenant, now).granted);
  EXPECT_TRUE(keys.begin(tenant, now).granted);
  EXPECT_FALSE(keys.begin(tenant, now).granted);
}

TEST(Keys, TextsAreEqualOnlyAsAWhole) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "abcabc"})
    EXPECT_FALSE(equal_in_constant_time(other, "abc")) << other;
  EXPECT_FALSE(equal_in_constant_time("a", ""));
}

}  // namespace
}  // namespace keys_test
