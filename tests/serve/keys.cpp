// SPDX-License-Identifier: Apache-2.0
// tests/serve/keys.cpp: tenants of a file, their keys and their quotas.
#include <gtest/gtest.h>

#include <keys.hpp>

namespace keys_test {
namespace {

using namespace program::server;

constexpr const char* kFile = R"({"tenants": [
  {"id": "a", "keys": ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb"], "slots": 2, "queue": 7, "reserved_pages": 3,
   "first_token_ms": 250, "token_gap_ms": 0},
  {"id": "c", "keys": ["cccccccccccccccc"], "answer_tokens_per_second": 60, "priority": "batch", "admin": true}]})";

TEST(TenantKeys, FindsTheTenantOfAKey) {
  auto tenants = read_tenants(kFile);
  ASSERT_TRUE(tenants) << tenants.error().text();
  const TenantKeys keys(*tenants);
  EXPECT_FALSE(keys.open());
  EXPECT_EQ(keys.find("bbbbbbbbbbbbbbbb")->id, "a");
  EXPECT_TRUE(keys.find("cccccccccccccccc")->admin);
  const zrt::TenantQuota bound = keys.find("aaaaaaaaaaaaaaaa")->quota, free = keys.find("cccccccccccccccc")->quota;
  EXPECT_EQ(bound.max_slots, 2u);
  EXPECT_EQ(bound.max_queued, 7u);
  EXPECT_EQ(bound.reserved_pages, 3u);
  EXPECT_EQ(bound.service, zrt::ServiceClass::interactive);
  EXPECT_EQ(bound.first_token_ns, 250'000'000u);
  EXPECT_EQ(bound.gap_ns, 0u);
  EXPECT_EQ(free.first_token_ns, zrt::serve::kBudgetOfClass);
  EXPECT_EQ(free.service, zrt::ServiceClass::batch);
  EXPECT_EQ(free.decode_tokens_per_s, 60u);
  EXPECT_EQ(free.max_slots, unbounded_quota().max_slots);
  for (const char* wrong :
       {"", "cccccccccccccccd", "ccccccccccccccc", "ccccccccccccccccc", "cccccccccccccccccccccccccccccccc"})
    EXPECT_FALSE(keys.find(wrong)) << wrong;
  EXPECT_TRUE(TenantKeys({}).find("")->admin);
}

TEST(TenantKeys, ATenantMayUseTheModelsThatTheFileNames) {
  const auto tenants = read_tenants(
      R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "models": ["one", "a/b"]}, {"id": "b", "keys": ["bbbbbbbbbbbbbbbb"]}]})");
  ASSERT_TRUE(tenants) << tenants.error().text();
  EXPECT_TRUE((*tenants)[0].may_use("one"));
  EXPECT_TRUE((*tenants)[0].may_use("a/b"));
  EXPECT_FALSE((*tenants)[0].may_use("two"));
  EXPECT_TRUE((*tenants)[1].may_use("two"));
}

TEST(TenantKeys, RefusesFilesThatMeanNothing) {
  for (const char* text :
       {"",
        "{",
        "[]",
        "{}",
        R"({"tenants": []})",
        R"({"tenants": [{"id": "a"}]})",
        R"({"tenants": [{"id": "a", "keys": []}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "models": []}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "models": [1]}]})",
        R"({"tenants": [{"id": "a", "keys": ["short"]}]})",
        R"({"tenants": [{"id": "", "keys": ["aaaaaaaaaaaaaaaa"]}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "slots": 2, "slots": null}]})",
        R"({"tenants": [{"id": "a", "id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}]})",
        R"({"tenants": [], "tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "curcurrent": 1}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}], "tenant": []})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "slots": 0}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "weight": 257}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "pages": 1, "reserved_pages": 2}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"], "priority": "high"}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}, {"id": "a", "keys": ["bbbbbbbbbbbbbbbb"]}]})",
        R"({"tenants": [{"id": "a", "keys": ["aaaaaaaaaaaaaaaa"]}, {"id": "b", "keys": ["aaaaaaaaaaaaaaaa"]}]})"}) {
    const auto read = read_tenants(text);
    ASSERT_FALSE(read) << text;
    EXPECT_TRUE(std::string_view(read.error().text()).starts_with("keys: ")) << read.error().text();
  }
}

TEST(TenantKeys, FaultsShowNoKey) {
  const std::pair<const char*, const char*> slips[] = {
      {R"({"tenants": [{"id": "a", "keys": {"k": "secret-key-of-team-a"}}]})",
       "'tenants[0].keys' is a value of type object"},
      {R"({"tenants": [{"id": "a", "keys": [{"k": "secret-key-of-team-a"}]}]})", "'tenants[0].keys[0]' is a value of"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1", 12345678901234567]}]})", "is a value of type number"},
      {R"({"tenants": [["secret-key-of-team-a"]]})", "'tenants[0]' is a value of type array"},
      {R"({"tenants": {"a": "secret-key-of-team-a"}})", "'tenants' is a value of type object"},
      {R"(["secret-key-of-team-a"])", "'the file' is a value of type array"},
      {R"({"tenants": [{"id": ["secret-key-of-team-a"], "keys": ["a-good-key-of-a1"]}]})", "'tenants[0].id' is"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"], "slots": "secret-key-of-team-a"}]})",
       "slots' is a value"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"], "admin": "secret-key-of-team-a"}]})",
       "admin' is a value"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"], "priority": ["secret-key-of-a"]}]})",
       "priority' is a"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"], "priority": "secret-key-of-team-a"}]})",
       "priority' is not"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"], "secret-key-of-team-a": 1}]})", "a field of 20 bytes"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"], "slot": 1}]})", "a field 'slot'"},
      {R"({"tenants": [{"id": "secret-key-of-team-a", "keys": ["a-good-key-of-a1"]},
                       {"id": "secret-key-of-team-a", "keys": ["a-good-key-of-a2"]}]})",
       "'tenants[1].id' is the same as 'tenants[0].id'"},
      {R"({"tenants": [{"id": "secret-key-of-team-a", "keys": ["a-good-key-of-a1"]},
                       {"id": "b", "keys": ["a-good-key-of-a2", "a-good-key-of-a1"]}]})",
       "'tenants[1].keys[1]' is the same as 'tenants[0].keys[0]'"},
      {R"({"tenants": [{"id": "a"}, {"id": "b", "secret-key-of-team-a": 1, "secret-key-of-team-a": 2}]})",
       "'tenants[1]' has a field of 20 bytes twice"},
      {R"({"tenants": [], "secret-key-of-team-a": 1})", "'tenants' is empty"},
      {R"({"tenants": [{"id": "a", "keys": ["a-good-key-of-a1"]}], "secret-key-of-team-a": 1})", "a field of 20 bytes"},
      {R"({"tenants": [{"id": "a", "keys": ["secret-key-of-team-a]}]})", "no JSON at byte"},
      {R"({"tenants": [{"id": "a", "keys": [secret-key-of-team-a]}]})", "no JSON at byte 35"},
      {R"({"tenants": [{"id": "a", "keys": ["secret-key-of-a1" "secret-key-of-a2"]}]})", "no JSON at byte"}};
  for (const auto& [text, expected] : slips) {
    const auto read = read_tenants(text);
    ASSERT_FALSE(read) << text;
    const std::string said(read.error().text());
    EXPECT_NE(said.find(expected), std::string::npos) << text << ": " << said;
    for (const char* part : {"secret", "key-of", "good", "1234567"})
      EXPECT_EQ(said.find(part), std::string::npos) << text << ": " << said;
  }
}

TEST(TenantKeys, AreOf16To512Bytes) {
  for (const std::size_t bytes : {15u, 16u, 512u, 513u}) {
    const std::string key(bytes, 'k');
    const auto read = read_tenants(R"({"tenants": [{"id": "a", "keys": [")" + key + R"("]}]})");
    EXPECT_EQ(read.has_value(), bytes == 16 || bytes == 512) << bytes;
    if (!read) continue;
    const TenantKeys keys(*read);
    EXPECT_TRUE(keys.find(key));
    for (const std::size_t other : {bytes - 1, bytes + 1, std::size_t{16384}})
      EXPECT_FALSE(keys.find(std::string(other, 'k'))) << other;
  }
}

TEST(TenantKeys, TenantsOfTwoFilesTogether) {
  std::vector<Tenant> before{{.id = "a"}, {.id = "b"}}, now{{.id = "b"}, {.id = "c"}};
  for (Tenant& tenant : before) tenant.quota.reserved_pages = 7;
  const std::vector<Tenant> both = with_those_of(now, before);
  ASSERT_EQ(both.size(), 3u);
  EXPECT_EQ(both[0].id + both[1].id + both[2].id, "bca");
  EXPECT_EQ(both[2].quota.reserved_pages, 0u);
}

TEST(TenantKeys, TextsAreEqualOnlyAsAWhole) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "abcabc"})
    EXPECT_FALSE(equal_in_constant_time(other, "abc")) << other;
  EXPECT_FALSE(equal_in_constant_time("a", ""));
}

}  // namespace
}  // namespace keys_test
