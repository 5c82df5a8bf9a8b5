// SPDX-License-Identifier: Apache-2.0
// tests/unit/embed.cpp: what Engine::embed promises beside its vectors.
#include <zrt/engine/embedding.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <support/engines.hpp>
#include <vector>

namespace embed_test {
namespace {

using namespace zrt;

std::string path_of(const char* name) { return std::string(ZRT_TEST_DATA_DIR "/peer/") + name + ".gguf"; }

std::unique_ptr<test::HostEngine> open(const char* name, bool embeddings, std::uint32_t slots = 2) {
  EngineOptions options;
  options.context = 64;
  options.chunk = 16;
  options.slots = slots;
  options.embeddings = embeddings;
  auto engine = test::open_engine(test::On::cpu, path_of(name), options);
  if (engine) return std::move(*engine);
  ADD_FAILURE() << engine.error().text();
  return nullptr;
}

std::vector<std::int32_t> text_of(std::int32_t length) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(length));
  std::iota(ids.begin(), ids.end(), 0);
  for (std::int32_t& id : ids) id = id * 7 % 64;
  return ids;
}

void expect_refused(const Result<Embeddings>& found, Errc code, std::initializer_list<std::string_view> words) {
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), code);
  for (const std::string_view word : words)
    EXPECT_NE(found.error().text().find(word), std::string_view::npos) << found.error().text();
}

TEST(Embed, RefusesWhatCannotBeEmbedded) {
  const auto long_text = text_of(65), text = text_of(5);
  const EmbedInput too_long[] = {{.tokens = text}, {.tokens = long_text}};
  const EmbedInput one[] = {{.tokens = text}};
  for (const char* name : {"bert", "qwen3-embedding"}) {
    const auto engine = open(name, true);
    ASSERT_TRUE(engine);
    expect_refused(engine->embed(too_long, {.pooling = Pooling::mean}), Errc::capacity_exceeded,
                   {"text 1", "65", "64"});
    expect_refused(engine->embed(one, {.pooling = Pooling::rank}), Errc::invalid_argument, {"classification head"});
    const EmbedInput as_text[] = {{.text = "hello"}};
    expect_refused(engine->embed(as_text, {.pooling = Pooling::mean}), Errc::unsupported_tokenizer, {"vocabulary"});
    const std::int32_t unknown[] = {64};
    const EmbedInput outside[] = {{.tokens = unknown}};
    expect_refused(engine->embed(outside, {.pooling = Pooling::mean}), Errc::invalid_argument, {"token 64"});
    const auto none = engine->embed({}, {.pooling = Pooling::mean});
    ASSERT_TRUE(none) << none.error().text();
    EXPECT_EQ(none->size(), 0u);
    EXPECT_TRUE(engine->embed(one, {.pooling = Pooling::mean}));
  }
  // The file of the decoder names its pooling, that of the encoder does not.
  EXPECT_TRUE(open("qwen3-embedding", true)->embed(one));
  expect_refused(open("bert", true)->embed(one), Errc::invalid_argument, {"pooling_type", "cls"});
  expect_refused(open("qwen3-embedding", false)->embed(one), Errc::invalid_argument, {"EngineOptions::embeddings"});
}

TEST(Embed, ModelsWithoutLogitsGenerateNothing) {
  const auto text = text_of(5);
  for (const auto& [name, asked] : {std::pair{"bert", false}, std::pair{"qwen3-embedding", true}}) {
    const auto engine = open(name, asked);
    ASSERT_TRUE(engine);
    Request request;
    request.tokens = text;
    const auto done = engine->generate(request, [](const Token&) { return true; });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Errc::invalid_argument);
    EXPECT_NE(done.error().text().find("embed"), std::string_view::npos) << done.error().text();
    EXPECT_FALSE(engine->submit(request));
    EXPECT_FALSE(engine->evaluate(text, {}, [](std::uint32_t, std::span<const float>) {}));
  }
}

TEST(Embed, ADecoderReadsOneText) {
  EngineOptions options;
  options.context = 64;
  options.embeddings = true;
  const auto engine = test::open_engine(test::On::cpu, ZRT_SOURCE_DIR "/examples/models/bard-q8_0.gguf", options);
  ASSERT_TRUE(engine) << engine.error().text();
  const EmbedInput alone[] = {{.text = "ROMEO"}};
  EXPECT_TRUE((*engine)->embed(alone, {.pooling = Pooling::mean}));
  const EmbedInput pair[] = {{.text = "ROMEO", .document = "JULIET"}};
  expect_refused((*engine)->embed(pair, {.pooling = Pooling::mean}), Errc::invalid_argument, {"decoder", "one prompt"});
}

TEST(Embed, AModelWithAHeadGeneratesToo) {
  const auto engine = open("qwen3-rank", false);
  ASSERT_TRUE(engine);
  const auto text = text_of(5);
  std::size_t rows = 0;
  const auto done = engine->evaluate(text, {}, [&](std::uint32_t, std::span<const float> row) {
    EXPECT_EQ(row.size(), 64u);
    ++rows;
  });
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(rows, text.size());
}

TEST(Embed, StopsWithinAStep) {
  const auto text = text_of(60);
  const std::vector<EmbedInput> inputs(5, {.tokens = text});
  for (const char* name : {"bert", "qwen3-embedding"}) {
    const auto engine = open(name, true);
    ASSERT_TRUE(engine);
    for (const int asked : {0, 1, 30}) {
      int left = asked;
      const auto stopped =
          engine->embed(inputs, {.pooling = Pooling::mean}, test::Stop([&left] { return left-- <= 0; }));
      expect_refused(stopped, Errc::cancelled, {"stop"});
    }
    // All slots and pages came back.
    const auto all = engine->embed(inputs, {.pooling = Pooling::mean});
    ASSERT_TRUE(all) << all.error().text();
    for (std::size_t i = 1; i < inputs.size(); ++i)
      EXPECT_TRUE(std::equal(all->of(0).begin(), all->of(0).end(), all->of(i).begin()));
  }
}

TEST(Embed, PoolsTheVectorsOfTokens) {
  const auto first = text_of(40), second = text_of(3);
  const EmbedInput inputs[] = {{.tokens = first}, {.tokens = second}};
  for (const char* name : {"bert", "qwen3-embedding"}) {
    const auto engine = open(name, true);
    ASSERT_TRUE(engine);
    const auto pooled = [&](Pooling pooling, bool normalize = false) {
      auto found = engine->embed(inputs, {.pooling = pooling, .normalize = normalize});
      EXPECT_TRUE(found) << found.error().text();
      return std::move(*found);
    };
    const auto rows = pooled(Pooling::none);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows.of(0).size(), 40u * rows.width);
    EXPECT_EQ(rows.tokens[1], 3u);
    const auto mean = pooled(Pooling::mean), cls = pooled(Pooling::cls), last = pooled(Pooling::last);
    const auto unit = pooled(Pooling::mean, true);
    for (std::size_t text = 0; text < 2; ++text) {
      const auto all = rows.of(text);
      double squares = 0;
      for (std::size_t i = 0; i < rows.width; ++i) {
        double sum = 0;
        for (std::size_t token = 0; token < rows.tokens[text]; ++token) sum += double{all[token * rows.width + i]};
        EXPECT_EQ(mean.of(text)[i], static_cast<float>(sum / rows.tokens[text]));
        EXPECT_EQ(cls.of(text)[i], all[i]);
        EXPECT_EQ(last.of(text)[i], all[all.size() - rows.width + i]);
        squares += double{unit.of(text)[i]} * double{unit.of(text)[i]};
      }
      EXPECT_NEAR(squares, 1.0, 1e-6);
    }
  }
}

}  // namespace
}  // namespace embed_test
