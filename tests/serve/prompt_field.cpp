// SPDX-License-Identifier: Apache-2.0
// tests/serve/prompt_field.cpp: prompts within the context and far beyond it.
#include <zrt/engine/vocabulary.hpp>

#include <gtest/gtest.h>

#include <ctime>
#include <prompt_field.hpp>

namespace prompt_field_test {
namespace {

using namespace program::server;

std::string words(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "the cat sat on the m\u00e4t. ";
  return text;
}

std::string refusal_of(const std::string& text, const ServedModel& model) {
  try {
    (void)encode_prompt(text, {.add_special = true, .parse_special = true}, "prompt", model);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400);
    EXPECT_EQ(error.code, "context_length_exceeded");
    return error.message;
  }
  return {};
}

// All of it took 1.4 seconds of the threads that other tenants' requests wait for.
TEST(PromptField, APromptFarBeyondTheContextIsRefusedByItsBeginning) {
  const auto file = zrt::model::GgufFile::open(ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf");
  ASSERT_TRUE(file) << file.error().text();
  const auto vocabulary = zrt::read_vocabulary(*file, zrt::system_allocator());
  ASSERT_TRUE(vocabulary) << vocabulary.error().text();
  const auto tokenizer = zrt::text::Tokenizer::make(vocabulary->spec);
  ASSERT_TRUE(tokenizer) << tokenizer.error().text();
  ServedModel model;
  model.tokenizer = &*tokenizer;
  model.context = 256;
  const std::string whole = words(4 << 20);
  const auto seconds = [&](const auto& work) {
    const std::clock_t begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  const double all = seconds([&] { EXPECT_TRUE(tokenizer->encode(whole, {})); });
  const double refused = seconds([&] {
    EXPECT_EQ(refusal_of(whole, model), "the prompt has more than 256 tokens, which is what the context holds");
  });
  EXPECT_LT(refused, all / 10);
  // The cut stands within a character for one of these.
  for (std::size_t shift = 0; shift < 8; ++shift)
    EXPECT_NE(refusal_of(std::string(shift, 'x') + whole, model), "") << shift;
  // Of what is not that long the tokens are counted.
  for (const std::size_t bytes : {1000u, 20000u, 60000u}) {
    const std::string text = words(bytes);
    const auto ids = tokenizer->encode(text, {.add_special = true, .parse_special = true});
    ASSERT_TRUE(ids);
    EXPECT_EQ(encode_prompt(text, {.add_special = true, .parse_special = true}, "prompt", model),
              std::vector<std::int32_t>(ids->begin(), ids->end()));
  }
}

}  // namespace
}  // namespace prompt_field_test
