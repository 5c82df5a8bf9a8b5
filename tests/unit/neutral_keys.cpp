// SPDX-License-Identifier: Apache-2.0
// tests/unit/neutral_keys.cpp: metadata of arithmetic that no family has is refused, and let pass where it changes nothing.
#include <zrt/model/neutral_keys.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <data/models/tiny_models.hpp>
#include <string>

namespace neutral_keys_test {
namespace {

using namespace zrt;

/// A file with nothing but "llama.<key>", held against heads of 64 and slots of 1,000 positions.
template <class T> Result<void> judge(std::string_view key, const T& value) {
  test::GgufWriter w;
  w.add("llama." + std::string(key), value);
  const test::ModelFile bytes(w.build());
  auto file = model::GgufFile::open(bytes.bytes(), system_allocator());
  if (!file) return pass(file);
  return model::expect_neutral_keys(*file, "llama", 64, 1000);
}

template <class T> void refused(std::string_view key, const T& value, Errc code = Errc::unimplemented) {
  const auto judged = judge(key, value);
  ASSERT_FALSE(judged) << key;
  EXPECT_EQ(judged.error().code(), code) << judged.error().text();
  EXPECT_NE(judged.error().text().find("llama." + std::string(key)), std::string_view::npos) << judged.error().text();
}

TEST(NeutralKeys, AnyOtherValueIsRefusedByName) {
  for (const auto& [key, scale] : model::detail::kNeutralKeys) {
    EXPECT_TRUE(judge(key, 0.0f)) << key;
    EXPECT_EQ(judge(key, 1.0f).has_value(), scale) << key;
    refused(key, 30.0f);
    refused(key, std::nanf(""));
    refused(key, -1.0);
    refused(key, std::string("30"), Errc::invalid_metadata);
  }
  EXPECT_TRUE(judge("use_parallel_residual", false));
  refused("use_parallel_residual", true);
}

TEST(NeutralKeys, LaterTokensAreNotLookedAt) {
  EXPECT_TRUE(judge("attention.causal", true));
  refused("attention.causal", false);
}

TEST(NeutralKeys, ScoresAreScaledByTheRootOfTheKeyLength) {
  EXPECT_TRUE(judge("attention.scale", 0.125f));
  EXPECT_TRUE(judge("attention.scale", 0.0f));
  refused("attention.scale", 0.1251f);
  refused("attention.scale", -0.125f);
}

TEST(NeutralKeys, AWindowMustHoldTheSlot) {
  EXPECT_TRUE(judge("attention.sliding_window", std::uint32_t{0}));
  EXPECT_TRUE(judge("attention.sliding_window", std::uint32_t{1000}));
  EXPECT_TRUE(judge("attention.sliding_window", std::int32_t{-1}));
  refused("attention.sliding_window", std::uint32_t{999});
}

}  // namespace
}  // namespace neutral_keys_test
