// SPDX-License-Identifier: Apache-2.0
// tests/unit/own_pre_tokenizers.cpp: the pre-tokenizers that a host's families add.
#include <zrt/engine/model_loader.hpp>
#include <zrt/models.hpp>

#include <gtest/gtest.h>

#include <families/olmo.hpp>
#include <vector>

namespace own_pre_tokenizers_test {
namespace {

using namespace zrt;

TEST(OwnPreTokenizers, StandBesideThoseOfZrt) {
  struct Families {
    using PreTokenizers = text::PreTokenizerList<host::HouseWords>;
  };
  const auto own = kOwnPreTokenizers<Families>;
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(text::find_pre_tokenizer("house-words"), nullptr);
  EXPECT_EQ(text::find_pre_tokenizer("house-words", own), own.data());
  EXPECT_EQ(text::find_pre_tokenizer("gpt-2", own), text::find_pre_tokenizer("gpt-2"));
  EXPECT_TRUE(kOwnPreTokenizers<AllFamilies>.empty());

  constexpr std::array<std::string_view, 6> tokens{"1", "2", "3", "4", "12", "123"};
  constexpr std::array<std::string_view, 2> merges{"1 2", "12 3"};
  text::VocabularySpec spec{.model = "gpt2", .pre = "house-words", .tokens = tokens, .merges = merges};
  EXPECT_EQ(text::Tokenizer::make(spec).error().code(), Errc::unsupported_tokenizer);
  const auto tokenizer = text::Tokenizer::make(spec, system_allocator(), own);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  const auto ids = tokenizer->encode("12341");
  ASSERT_TRUE(ids);
  EXPECT_EQ(std::vector<std::int32_t>(ids->begin(), ids->end()), (std::vector<std::int32_t>{5, 3, 0}));
}

/// A name that zrt has, or that stands twice in the host's list, is refused when the engine compiles.
struct Taken {
  static constexpr std::array<std::string_view, 1> names{"gpt-2"};
  static constexpr text::pre::Traits traits = host::HouseWords::traits;
  using Stages = host::HouseWords::Stages;
};
static_assert(text::detail::names_are_unique(text::kPreTokenizersOf<text::PreTokenizerList<host::HouseWords>>, false));
static_assert(!text::detail::names_are_unique(text::kPreTokenizersOf<text::PreTokenizerList<Taken>>, false));
static_assert(!text::detail::names_are_unique(
    text::kPreTokenizersOf<text::PreTokenizerList<host::HouseWords, host::HouseWords>>, false));

}  // namespace
}  // namespace own_pre_tokenizers_test
