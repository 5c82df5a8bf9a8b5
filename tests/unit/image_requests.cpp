// SPDX-License-Identifier: Apache-2.0
// tests/unit/image_requests.cpp: requests with rows of an image on an engine: llama.cpp's next token, and what is refused.
#include <zrt/model/image_places.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <support/engines.hpp>
#include <support/peer_images.hpp>
#include <vector>

namespace image_requests_test {
namespace {

using namespace zrt;
using test::HostEngine;
using test::On;

/// Lines and columns of rows: a row is 8 pixels wide and high.
constexpr std::uint32_t kPixels = 8;

test::AnyEngine open(On on, std::uint32_t chunk = 16) {
  EngineOptions options;
  options.slots = 2;
  options.chunk = chunk;
  options.kv_type = DType::f32;
  options.given_embeddings = true;
  return test::open_engine(on, std::string_view(test::kPeerFolder + "qwen3vl-images.gguf"), options);
}

/// The prompt around an image, and where its rows stand.
struct Prompt {
  std::vector<std::int32_t> tokens;
  test::Image image;
  model::ImagePlaces places;

  [[nodiscard]] EmbeddingSpan span(std::uint32_t first) const {
    return {first, image.expected, places.places.span(), places.advance};
  }
};
Prompt prompt(const test::TextAroundImage& text) {
  std::uint32_t columns = 0;
  test::Image image = test::images(columns).at(text.image);
  std::vector<std::int32_t> tokens(text.tokens.begin(), text.tokens.end());
  tokens.insert(tokens.begin() + text.before, image.rows, 3);
  return {std::move(tokens), std::move(image), *model::ImagePlaces::of(image.height / kPixels, image.width / kPixels)};
}

Request request(std::span<const std::int32_t> tokens, std::span<const EmbeddingSpan> spans) {
  Request r;
  r.tokens = tokens;
  r.embeddings = spans;
  r.max_tokens = 5;
  r.ignore_eos = true;
  r.log_probabilities = 64;
  return r;
}

/// Log-probabilities by token, of each token of one request.
std::vector<std::vector<float>> run(HostEngine& engine) {
  std::vector<std::vector<float>> heard;
  for (std::size_t left = 1; left != 0;) {
    const auto r = engine.step([&](RequestId, const Token& token) {
      EXPECT_NE(token.finish, FinishReason::failed) << token.error->text();
      if (token.id == kNoToken) return true;
      std::vector<float> row(64);
      for (const TokenProbability& one : token.best) row[static_cast<std::size_t>(one.id)] = one.log_probability;
      heard.push_back(std::move(row));
      return true;
    });
    EXPECT_TRUE(r) << r.error().text();
    left = r ? *r : 0;
  }
  return heard;
}

class ImageRequests : public testing::TestWithParam<On> {};

TEST_P(ImageRequests, TheTokenBehindTextAndAnImageIsThatOfThePeer) {
  const test::TextAroundImage text = test::text_around_image();
  const Prompt p = prompt(text);
  const auto last = std::span(text.expected).last(text.vocabulary);
  double sum = 0;
  for (const float logit : last) sum += std::exp(double{logit});
  std::vector<std::vector<float>> first;
  for (const std::uint32_t chunk : {16u, 64u}) {
    const auto engine = open(GetParam(), chunk);
    ASSERT_TRUE(engine) << engine.error().text();
    const std::array spans{p.span(text.before)};
    const auto id = (*engine)->submit(request(p.tokens, spans));
    ASSERT_TRUE(id) << id.error().text();
    const auto heard = run(**engine);
    ASSERT_EQ(heard.size(), 5u);
    for (std::size_t i = 0; i < last.size(); ++i)
      EXPECT_NEAR(heard[0][i], double{last[i]} - std::log(sum), 2e-5) << "token " << i;
    if (first.empty()) first = heard;
    EXPECT_EQ(heard, first) << "chunks of " << chunk;
  }
}

/// Generated tokens stand where the text before them says, so a prompt that ends later gives the same.
TEST_P(ImageRequests, GeneratedTokensStandBehindTheImage) {
  const test::TextAroundImage text = test::text_around_image();
  Prompt p = prompt(text);
  const std::array spans{p.span(text.before)};
  const auto engine = open(GetParam());
  ASSERT_TRUE(engine && (*engine)->submit(request(p.tokens, spans)));
  const auto heard = run(**engine);
  ASSERT_EQ(heard.size(), 5u);
  p.tokens.push_back(static_cast<std::int32_t>(std::max_element(heard[0].begin(), heard[0].end()) - heard[0].begin()));
  ASSERT_TRUE((*engine)->submit(request(p.tokens, spans)));
  const auto later = run(**engine);
  ASSERT_EQ(later.size(), 5u);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(later[i], heard[i + 1]) << i;
}

TEST_P(ImageRequests, ARowOfATokenWithoutFeaturesIsTheToken) {
  const test::TextAroundImage text = test::text_around_image();
  const std::vector<std::int32_t> tokens(text.tokens.begin(), text.tokens.end());
  const auto engine = open(GetParam());
  ASSERT_TRUE(engine);
  const auto gguf = model::GgufFile::open(test::kPeerFolder + "qwen3vl-images.gguf");
  ASSERT_TRUE(gguf);
  const auto* table = reinterpret_cast<const float*>(gguf->data(*gguf->find_tensor("token_embd.weight")).data());
  std::vector<float> rows(2 * 32);
  for (std::size_t row = 0; row < 2; ++row)
    std::copy_n(table + tokens[2 + row] * 16, 16, rows.begin() + static_cast<std::ptrdiff_t>(32 * row));
  ASSERT_TRUE((*engine)->submit(request(tokens, {})));
  const auto plain = run(**engine);
  const std::array spans{EmbeddingSpan{2, rows}};
  ASSERT_TRUE((*engine)->submit(request(tokens, spans)));
  EXPECT_EQ(run(**engine), plain);
}

TEST_P(ImageRequests, PlacesThatDoNotFitAreRefusedByName) {
  const test::TextAroundImage text = test::text_around_image();
  const Prompt p = prompt(text);
  const auto engine = open(GetParam());
  ASSERT_TRUE(engine);
  const auto refused = [&](const EmbeddingSpan& span, std::string_view why) {
    const std::array spans{span};
    const auto id = (*engine)->submit(request(p.tokens, spans));
    ASSERT_FALSE(id) << why;
    EXPECT_EQ(id.error().code(), Errc::invalid_argument);
    EXPECT_NE(id.error().text().find(why), std::string_view::npos) << id.error().text();
  };
  EmbeddingSpan span = p.span(text.before);
  span.places = span.places.first(59);
  refused(span, "span 0 of embeddings has 59 places for 20 rows and takes 5 positions");
  span = p.span(text.before);
  span.advance = 0;
  refused(span, "takes 0 positions");
  span.advance = 21;
  refused(span, "takes 21 positions");
  span.advance = 4;
  refused(span, "has a place 4, expected 0..3");
}

TEST_P(ImageRequests, ARequestWithPlacesIsNotSaved) {
  const test::TextAroundImage text = test::text_around_image();
  const Prompt p = prompt(text);
  const auto engine = open(GetParam(), 64);
  ASSERT_TRUE(engine);
  const std::array spans{p.span(text.before)};
  const auto id = (*engine)->submit(request(p.tokens, spans));
  ASSERT_TRUE(id);
  ASSERT_TRUE((*engine)->step([](RequestId, const Token&) { return true; }));
  EXPECT_EQ((*engine)->save(*id).error().code(), Errc::unimplemented);
}

INSTANTIATE_TEST_SUITE_P(Unit, ImageRequests, testing::Values(On::cpu, On::reference),
                         [](const auto& param) { return param.param == On::cpu ? "cpu" : "reference"; });

}  // namespace
}  // namespace image_requests_test
