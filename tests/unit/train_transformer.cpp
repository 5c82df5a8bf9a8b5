// SPDX-License-Identifier: Apache-2.0
// tests/unit/train_transformer.cpp: the transformer of examples/train.cpp, small, step by step beside PyTorch's losses.
// test-set: full
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <iterator>
#include <support/run_program.hpp>
#include <train/byte_transformer.hpp>

namespace train_transformer_test {
namespace {

using namespace zrt;
using namespace zrt::test;

zrt::Shape constant(const ir::ptir::Shape& shape) {
  zrt::Shape made;
  for (const auto dim : shape.view()) made = made.appended(static_cast<std::uint32_t>(dim.constant()));
  return made;
}

TEST(Train, TheLossFallsAsPyTorchs) {
  std::ifstream file(ZRT_TEST_DATA_DIR "/train/tiny_losses.json"), license(ZRT_SOURCE_DIR "/LICENSE", std::ios::binary);
  const auto losses = nlohmann::json::parse(file)["losses"].get<std::vector<double>>();
  const std::string text{std::istreambuf_iterator<char>(license), {}};
  ASSERT_GE(losses.size(), 6u);
  // The options of the command that stands beside the losses.
  const example::TransformerSizes sizes{.batch = 2, .length = 8, .width = 8, .heads = 2};
  const ir::train::AdamW optimizer{.rate = 0.01};
  auto model = example::TransformerBuilder(sizes, 5).build(&optimizer);
  ASSERT_TRUE(model) << model.error().text();
  std::vector<ir::fused::FeedType> feeds{model->tokens, model->targets};
  for (const auto& v : model->variables) feeds.push_back(v.feed);
  const auto program = ir::fused::instantiate(model->program, feeds, true);
  ASSERT_TRUE(program) << program.error().text();
  example::Draws order(6);
  const std::size_t held = text.size() - text.size() / 10, length = 8;
  for (const double expected : losses) {
    std::vector<std::int32_t> tokens, targets;
    for (int row = 0; row < 2; ++row) {
      const std::size_t start = order.next() % (held - length);
      for (std::size_t i = start; i < start + length; ++i) {
        tokens.push_back(static_cast<unsigned char>(text[i]));
        targets.push_back(static_cast<unsigned char>(text[i + 1]));
      }
    }
    std::vector<HostValue> inputs;
    for (const ir::fused::ValueId id : model->program.feeds) {
      const auto put = [&](const ir::fused::FeedType& feed, auto data) {
        const auto bytes = std::as_bytes(std::span(data));
        if (feed.id == id)
          inputs.push_back({{feed.type.dtype, constant(feed.type.shape)}, {bytes.begin(), bytes.end()}});
      };
      put(model->tokens, tokens);
      put(model->targets, targets);
      for (const auto& v : model->variables) put(v.feed, v.data);
    }
    const ProgramRun ran = run_program(*program, inputs, 1, 1, false);
    ASSERT_FALSE(ran.refused) << ran.refused->text();
    ASSERT_FALSE(ran.failed) << ran.failed->text();
    float loss = 0;
    std::memcpy(&loss, ran.outputs[0].bytes.data(), sizeof loss);
    EXPECT_NEAR(double{loss}, expected, 1e-5 * expected);
    for (std::size_t s = 0; s < model->program.state_out.size(); ++s)
      for (auto& v : model->variables)
        if (v.feed.id == model->program.state_out[s].state)
          std::memcpy(v.data.data(), ran.outputs[2 + s].bytes.data(), ran.outputs[2 + s].bytes.size());
  }
}

}  // namespace
}  // namespace train_transformer_test
