// SPDX-License-Identifier: Apache-2.0
// tests/unit/optimizer.cpp: SGD, Adam and AdamW against PyTorch's (tests/tools/optimizer_vectors.py).
// test-set: full
#include <zrt/exec/fused_runner.hpp>
#include <zrt/ir/gradient/differentiate.hpp>
#include <zrt/ir/train/optimizer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <programs.hpp>
#include <support/run_program.hpp>

namespace optimizer_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace fused = zrt::ir::fused;
namespace train = zrt::ir::train;

const ir::ptir::TensorType kVector{DType::f64, {3}};

/// sum(p^4) / 4 - sum(p), with the steps that train p.
template <class O>
fused::FusedProgram trained(const O& optimizer, std::vector<fused::FeedType>& feeds, bool rate_feed) {
  const fused::FusedProgram nothing;
  fused::Graft forward(nothing, {});
  const auto p = forward.feed(kVector);
  const auto square = p * p;
  const auto loss = forward.builder().reduce_sum(square * square * 0.25 - p, {0});
  forward.output("loss", loss);
  const fused::ValueId p_id = forward.id_of(p), loss_id = forward.id_of(loss);
  const auto program = forward.finish();
  EXPECT_TRUE(program) << program.error().text();
  feeds = {{p_id, kVector}};
  fused::Graft graft(*program, feeds);
  const auto gradients = ir::gradient::differentiate(graft, loss_id, {&p_id, 1});
  EXPECT_TRUE(gradients) << gradients.error().text();
  std::optional<ir::ptir::Tensor> rate;
  if (rate_feed) {
    rate = graft.feed({DType::f64, {}});
    feeds.push_back({graft.id_of(*rate), {DType::f64, {}}});
  }
  const auto slots = train::update(graft, optimizer, {&p_id, 1}, gradients->span(), rate);
  EXPECT_TRUE(slots) << slots.error().text();
  for (const train::Slot& slot : *slots) feeds.push_back({slot.id, slot.type});
  auto made = graft.finish();
  EXPECT_TRUE(made) << made.error().text();
  return std::move(*made);
}

/// p after five steps from the numbers of the vectors.
template <class O> std::vector<double> after_five_steps(O optimizer, bool rate_feed = false, bool training = true) {
  std::vector<fused::FeedType> feeds;
  const double rate = optimizer.rate;
  if (rate_feed) optimizer.rate = 77;  // the feed takes its place
  const fused::FusedProgram program = trained(optimizer, feeds, rate_feed);
  const auto ready = fused::instantiate(program, feeds, training);
  EXPECT_TRUE(ready) << ready.error().text();
  std::vector<HostValue> inputs;
  for (const fused::ValueId id : program.feeds)
    for (const fused::FeedType& feed : feeds)
      if (feed.id == id) {
        const std::size_t n = feed.type.shape.rank == 0 ? 1 : 3;
        inputs.push_back({{DType::f64, n == 1 ? Shape{} : Shape{3}}, std::vector<std::byte>(8 * n)});
        if (rate_feed && id == feeds[1].id) std::memcpy(inputs.back().bytes.data(), &rate, 8);
      }
  const double start[3]{0.5, -1.5, 2.0};
  std::memcpy(inputs[0].bytes.data(), start, sizeof start);
  for (int step = 0; step < 5; ++step) {
    const ProgramRun ran = run_program(*ready, inputs, 1, 1, false);
    EXPECT_TRUE(!ran.refused && !ran.failed);
    for (std::size_t s = 0; s < program.state_out.size(); ++s)
      for (std::size_t f = 0; f < program.feeds.size(); ++f)
        if (program.feeds[f] == program.state_out[s].state) inputs[f].bytes = ran.outputs[1 + s].bytes;
  }
  std::vector<double> p(3);
  std::memcpy(p.data(), inputs[0].bytes.data(), 24);
  return p;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], expected[i], 1e-12) << i;
}

TEST(Optimizer, SgdMovesAsPyTorchs) {
  expect_near(after_five_steps(train::Sgd{}), {0.54306434165713691, -1.3067939836181104, 1.7185032143238306});
  expect_near(after_five_steps(train::Sgd{.weight_decay = 0.1}),
              {0.54052430687266262, -1.3004991255717377, 1.7108683393739252});
  expect_near(after_five_steps(train::Sgd{.momentum = 0.9, .weight_decay = 0.1}),
              {0.60610607970971897, -0.9837793758835639, 1.2618245014388634});
  expect_near(after_five_steps(train::Sgd{.momentum = 0.9, .nesterov = true}),
              {0.642188267562951, -0.91308218885074477, 1.2098153703659922});
}

TEST(Optimizer, AdamMovesAsPyTorchs) {
  expect_near(after_five_steps(train::Adam{.rate = 0.05}),
              {0.74818991702342541, -1.2522999404103277, 1.7527847775740302});
  expect_near(
      after_five_steps(train::Adam{.rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.1}),
      {0.74641296207252927, -1.2533215621067362, 1.7539294039628988});
  expect_near(after_five_steps(train::AdamW{.rate = 0.05, .weight_decay = 0.1}),
              {0.73350213080211613, -1.2180815210682545, 1.7065289991219208});
}

TEST(Optimizer, AFeedMayBeTheRate) {
  expect_near(after_five_steps(train::AdamW{.rate = 0.05, .weight_decay = 0.1}, true),
              {0.73350213080211613, -1.2180815210682545, 1.7065289991219208});
}

// A gradient of 0 leaves its element alone: the epsilon below it is no 0 in the type of the steps.
TEST(Optimizer, StepsOfNarrowParametersAreWide) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const ir::ptir::TensorType type{dtype, {2}};
    fused::FusedProgram bare;
    const fused::ValueId id = 0;
    ASSERT_TRUE(bare.feeds.push_back(id));
    std::vector<fused::FeedType> feeds{{id, type}};
    fused::Graft graft(bare, feeds);
    const float numbers[]{0.0f, 1.0f};
    const auto gradient =
        graft.builder().cast(graft.builder().constant({DType::f32, {2}}, std::as_bytes(std::span(numbers))), dtype);
    const auto slots = train::update(graft, train::Adam{.rate = 0.25}, {&id, 1}, {&gradient, 1});
    ASSERT_TRUE(slots) << slots.error().text();
    for (const train::Slot& slot : *slots) EXPECT_EQ(slot.type.dtype, DType::f32);
    const auto made = graft.finish();
    ASSERT_TRUE(made) << made.error().text();
    for (const train::Slot& slot : *slots) feeds.push_back({slot.id, slot.type});
    const auto ready = fused::instantiate(*made, feeds, true);
    ASSERT_TRUE(ready) << ready.error().text();
    std::vector<HostValue> inputs{{{dtype, {2}}, std::vector<std::byte>(dtype == DType::f32 ? 8 : 4)}};
    for (const train::Slot& slot : *slots) {
      const bool scalar = slot.type.shape.rank == 0;
      inputs.push_back({{DType::f32, scalar ? Shape{} : Shape{2}}, std::vector<std::byte>(scalar ? 4 : 8)});
    }
    const ProgramRun ran = run_program(*ready, inputs, 1, 1, false);
    ASSERT_TRUE(!ran.refused && !ran.failed);
    // From 0, -0.25 is held by every type.
    std::vector<std::byte> expected(inputs[0].bytes.size());
    const std::uint32_t quarter = dtype == DType::f32 ? 0xbe800000u : dtype == DType::f16 ? 0xb400u : 0xbe80u;
    std::memcpy(expected.data() + expected.size() / 2, &quarter, expected.size() / 2);
    EXPECT_EQ(ran.outputs.back().bytes, expected) << name(dtype);
  }
}

TEST(Optimizer, EvaluationLeavesEveryStateAsItWas) {
  EXPECT_EQ(after_five_steps(train::AdamW{}, false, false), (std::vector<double>{0.5, -1.5, 2.0}));
}

/// AdamW's program as a host resumes it: from slots that it kept, or that it lost.
class Resumed : public ::testing::Test {
 protected:
  using Runner = FusedRunner<engines::ReferencePrograms>;

  void SetUp() override {
    program_ = trained(train::AdamW{}, types_, false);
    // The parameter, the two corrections, which count the steps, and the two moments.
    ASSERT_EQ(types_.size(), 5u);
    for (const fused::FeedType& feed : types_) data_.emplace_back(feed.type.shape.rank == 0 ? 1u : 3u, 0.5);
  }
  static Shape shape_of(const ir::ptir::TensorType& type) { return type.shape.rank == 0 ? Shape{} : Shape{3}; }

  /// What `make` says of feeds of these types.
  std::string made(const std::vector<fused::FeedType>& types) {
    fused::CutWire cut;
    const auto runner = Runner::make(program_, types, {}, &cut);
    return runner ? "made" : told(cut, runner.error());
  }
  /// What a step in training says of these feeds; the states are updated in place.
  std::string ran(const std::vector<BoundFeed>& feeds) {
    auto runner = Runner::make(program_, types_);
    EXPECT_TRUE(runner) << runner.error().text();
    if (!runner) return {};
    std::vector<TensorView> outputs{{DType::f64, {}, std::as_writable_bytes(std::span(&loss_, 1))}};
    for (const fused::StateUpdate& update : program_.state_out)
      for (std::size_t i = 0; i < types_.size(); ++i)
        if (types_[i].id == update.state)
          outputs.push_back({DType::f64, shape_of(types_[i].type), std::as_writable_bytes(std::span(data_[i]))});
    fused::CutWire cut;
    const auto done = runner->run(feeds, outputs, true, 0, {}, &cut);
    return done ? "ran" : told(cut, done.error());
  }
  std::vector<BoundFeed> feeds() const {
    std::vector<BoundFeed> all;
    for (std::size_t i = 0; i < types_.size(); ++i)
      all.push_back({types_[i].id, {DType::f64, shape_of(types_[i].type), std::as_bytes(std::span(data_[i]))}});
    return all;
  }
  /// The code, and the first line of the report.
  std::string told(const fused::CutWire& cut, const Error& error) const {
    String report;
    EXPECT_TRUE(fused::append_report(report, program_, cut, error));
    return std::string(name(error.code())) + ": " + std::string(report.view().substr(0, report.view().find('\n')));
  }

  fused::FusedProgram program_;
  std::vector<fused::FeedType> types_;
  std::vector<std::vector<double>> data_;
  double loss_ = 0;
};

TEST_F(Resumed, SlotsOfAnotherTypeAreNamedWithTheStepThatReadsThem) {
  EXPECT_EQ(made(types_), "made");
  auto types = types_;
  types.erase(types.begin() + 1);
  const std::string counter = std::to_string(types_[1].id), moment = std::to_string(types_[3].id);
  EXPECT_TRUE(made(types).ends_with("): feed " + counter + " is not bound")) << made(types);
  EXPECT_TRUE(made(types).starts_with("invalid_argument: step ")) << made(types);
  for (const ir::ptir::TensorType& wrong :
       {ir::ptir::TensorType{DType::f32, {3}}, ir::ptir::TensorType{DType::f64, {4}},
        ir::ptir::TensorType{DType::f64, {}}, ir::ptir::TensorType{DType::si64, {3}}}) {
    types = types_;
    types[3].type = wrong;
    const std::string text = made(types);
    EXPECT_NE(text.find("_mismatch: step "), std::string::npos) << text;
    EXPECT_NE(text.find("feed " + moment + " is bound to another type than its meta"), std::string::npos) << text;
  }
  types = types_;
  types.push_back(types_[0]);
  EXPECT_TRUE(made(types).starts_with("duplicate_name: ")) << made(types);
}

TEST_F(Resumed, StepsWithoutTheirSlotsAreRefused) {
  auto lost = feeds();
  lost.erase(lost.begin() + 2);
  EXPECT_TRUE(ran(lost).ends_with("): feed " + std::to_string(types_[2].id) + " is not bound")) << ran(lost);
  auto wide = feeds();
  const std::vector<double> four(4);
  wide[4].tensor = {DType::f64, {4}, std::as_bytes(std::span(four))};
  EXPECT_TRUE(ran(wide).starts_with("shape_mismatch: step ")) << ran(wide);
  wide[4].tensor = {DType::f32, {3}, std::as_bytes(std::span(four)).first(12)};
  EXPECT_TRUE(ran(wide).starts_with("dtype_mismatch: step ")) << ran(wide);
  wide[4].tensor = {DType::f64, {3}, std::as_bytes(std::span(four)).first(8)};
  EXPECT_TRUE(ran(wide).starts_with("shape_mismatch: step ")) << ran(wide);
}

// NaN is a number as others are: it spreads, and the next step runs too.
TEST_F(Resumed, NaNSpreadsToWhatItIsComputedInto) {
  data_[0][1] = std::numeric_limits<double>::quiet_NaN();
  for (int step = 0; step < 2; ++step) EXPECT_EQ(ran(feeds()), "ran");
  EXPECT_TRUE(std::isnan(loss_) && std::isnan(data_[0][1]) && std::isnan(data_[3][1]));
  EXPECT_FALSE(std::isnan(data_[0][0]) || std::isnan(data_[0][2]));
}

}  // namespace
}  // namespace optimizer_test
