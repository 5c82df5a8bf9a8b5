// SPDX-License-Identifier: Apache-2.0
// tests/unit/fused_run.cpp: fused programs as they run: batch_norm and dropout in both modes, state, exact binding.
//
// Expected numbers: batch_norm by exact sums in double in Python; dropout's mask by a Philox4x32-10 written
// in Python after Salmon et al. 2011 and checked against their known answers.
#include <zrt/exec/fused_runner.hpp>
#include <zrt/ir/fused/json.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <programs.hpp>

namespace fused_run_test {
namespace {

using namespace zrt;
namespace fused = zrt::ir::fused;

fused::FusedProgram parsed(std::string_view text) {
  auto program = fused::parse_json(text);
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : fused::FusedProgram();
}

constexpr Shape kMatrix{4, 3}, kVector{3};

template <class T> ConstTensorView view(const Shape& shape, const std::vector<T>& data) {
  return {sizeof(T) == 8 ? DType::f64 : DType::f32, shape, std::as_bytes(std::span(data))};
}
template <class T> TensorView room(const Shape& shape, std::vector<T>& data) {
  return {sizeof(T) == 8 ? DType::f64 : DType::f32, shape, std::as_writable_bytes(std::span(data))};
}

template <class B> class FusedRun : public ::testing::Test {};
using Backends = ::testing::Types<engines::ReferencePrograms, engines::CpuPrograms>;
TYPED_TEST_SUITE(FusedRun, Backends);

constexpr std::string_view kBatchNorm = R"({"version":1,"feeds":[0,1,2,3,4],"steps":[
{"step_id":0,"op_name":"batch_norm","input_ids":[0,1,2,3,4],"attrs":{"feature_axis":1,"epsilon":1e-5,"momentum":0.1},"result_ids":[7,8,9],"mode_sensitive":true}],
"outputs":{"y":7},"state_in":[3,4],"state_out":[{"state":3,"value":8},{"state":4,"value":9}]})";

TYPED_TEST(FusedRun, BatchNormOfBothModes) {
  const auto program = parsed(kBatchNorm);
  const ir::ptir::TensorType matrix{DType::f64, {4, 3}}, vector{DType::f64, {3}};
  const std::vector<fused::FeedType> types{{0, matrix}, {1, vector}, {2, vector}, {3, vector}, {4, vector}};
  auto runner = FusedRunner<TypeParam>::make(program, types);
  ASSERT_TRUE(runner) << runner.error().text();
  const std::vector<double> x{-1, 0.5, 2, 3, -4, 7, 0.25, 1.5, -2.5, 4, 2, 1}, gamma{1, 2, 0.5}, beta{0, -1, 3};
  std::vector<double> mean{0.5, -0.5, 1}, variance{1, 2, 4}, y(12);
  const Shape &m = kMatrix, &v = kVector;
  const std::vector<BoundFeed> feeds{
      {4, view(v, variance)}, {0, view(m, x)}, {1, view(v, gamma)}, {2, view(v, beta)}, {3, view(v, mean)}};
  const std::vector<TensorView> outputs{room(m, y), room(v, mean), room(v, variance)};

  const std::vector<double> in_evaluation{-1.4999925000562495,  0.41421002685244734, 3.2499996875005861,
                                          2.4999875000937495,   -5.9497350939835654, 4.4999981250035157,
                                          -0.24999875000937494, 1.8284200537048947,  2.1250010937479491,
                                          3.499982500131249,    2.5355250671311182,  3};
  auto ran = runner->run(feeds, outputs, false);
  ASSERT_TRUE(ran) << ran.error().text();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], in_evaluation[i], 1e-12) << i;
  EXPECT_EQ(mean, (std::vector<double>{0.5, -0.5, 1}));
  EXPECT_EQ(variance, (std::vector<double>{1, 2, 4}));

  const std::vector<double> in_training{-1.2695247425595864,  -0.57836335343217982, 3.0183927893550431,
                                        0.71217241655781671,  -4.3730931725425615,  3.7541043635567681,
                                        -0.65024438033539789, 0.26490993970346044,  2.3562523725734907,
                                        1.2075967063371675,   0.68654658627128073,  2.8712504745146981};
  ran = runner->run(feeds, outputs, true);
  ASSERT_TRUE(ran) << ran.error().text();
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], in_training[i], 1e-12) << i;
  const std::vector<double> next_mean{0.60625, -0.45, 1.0875},
      next_variance{1.4432291666666668, 2.55, 5.1395833333333334};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(mean[i], next_mean[i], 1e-14);
    EXPECT_NEAR(variance[i], next_variance[i], 1e-14);
  }
}

TYPED_TEST(FusedRun, DropoutIsAFunctionOfSeedStepAndElement) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.25,"seed":7},"result_id":1,"mode_sensitive":true},
{"step_id":3,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.25,"seed":7},"result_id":2,"mode_sensitive":true}],
"outputs":{"a":1,"b":2}})");
  const std::vector<fused::FeedType> types{{0, {DType::f32, {2, 8}}}};
  auto runner = FusedRunner<TypeParam>::make(program, types);
  ASSERT_TRUE(runner) << runner.error().text();
  std::vector<float> x(16), a(16), b(16);
  for (std::size_t i = 0; i < 16; ++i) x[i] = 3.0f * static_cast<float>(i + 1);
  const Shape shape{2, 8};
  const std::vector<BoundFeed> feeds{{0, view(shape, x)}};
  const std::vector<TensorView> outputs{room(shape, a), room(shape, b)};
  ASSERT_TRUE(runner->run(feeds, outputs, false));
  EXPECT_EQ(a, x);
  EXPECT_EQ(b, x);
  const std::vector<int> kept_a{1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0};
  const std::vector<int> kept_b{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1};
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(runner->run(feeds, outputs, true));
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_FLOAT_EQ(a[i], kept_a[i] ? x[i] / 0.75f : 0.0f) << i;
      EXPECT_FLOAT_EQ(b[i], kept_b[i] ? x[i] / 0.75f : 0.0f) << i;
    }
  }
}

TYPED_TEST(FusedRun, ARateOfOneDropsEverything) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":1},"result_id":1,"mode_sensitive":true}],
"outputs":{"y":1}})");
  const std::vector<fused::FeedType> types{{0, {DType::f32, {2, 8}}}};
  auto runner = FusedRunner<TypeParam>::make(program, types);
  ASSERT_TRUE(runner) << runner.error().text();
  std::vector<float> x(16, 3.0f), y(16, -1.0f);
  x[5] = std::numeric_limits<float>::quiet_NaN();
  x[6] = std::numeric_limits<float>::infinity();
  const Shape shape{2, 8};
  const std::vector<BoundFeed> feeds{{0, view(shape, x)}};
  const std::vector<TensorView> outputs{room(shape, y)};
  ASSERT_TRUE(runner->run(feeds, outputs, true));
  EXPECT_EQ(y, std::vector<float>(16, 0.0f));
  const auto beyond = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":0,"op_name":"dropout","input_ids":[0],"attrs":{"rate":1.125},"result_id":1,"mode_sensitive":true}],
"outputs":{"y":1}})");
  const auto refused = FusedRunner<TypeParam>::make(beyond, types);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::invalid_params);
}

TYPED_TEST(FusedRun, ARunChoosesTheSeedOfTheDrawsThatHaveNone) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":4,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.25,"stream":0},"result_id":1,"mode_sensitive":true},
{"step_id":5,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.25,"seed":7,"stream":0},"result_id":2,"mode_sensitive":true}],
"outputs":{"a":1,"b":2}})");
  const std::vector<fused::FeedType> types{{0, {DType::f32, {64}}}};
  auto runner = FusedRunner<TypeParam>::make(program, types);
  ASSERT_TRUE(runner) << runner.error().text();
  const std::vector<float> x(64, 3.0f);
  std::vector<float> a(64), b(64);
  const Shape shape{64};
  const std::vector<BoundFeed> feeds{{0, view(shape, x)}};
  const std::vector<TensorView> outputs{room(shape, a), room(shape, b)};
  const auto run = [&](bool training, std::uint64_t seed) {
    const auto ran = runner->run(feeds, outputs, training, seed);
    ASSERT_TRUE(ran) << ran.error().text();
  };
  run(true, 7);
  EXPECT_EQ(a, b);
  const std::vector<float> seven = a;
  run(true, 8);
  EXPECT_NE(a, b);
  EXPECT_EQ(b, seven);
  run(true, 7);
  EXPECT_EQ(a, seven);
  run(false, 8);
  EXPECT_EQ(a, x);
}

TYPED_TEST(FusedRun, BindsFeedsExactly) {
  const auto program = parsed(R"({"version":1,"feeds":[3,5],"steps":[
{"step_id":0,"op_name":"elementwise_binary","input_ids":[5,3],"attrs":{"op":"sub"},"result_id":9,"mode_sensitive":false}],
"outputs":{"y":9}})");
  const std::vector<fused::FeedType> types{{5, {DType::f32, {2}}}, {3, {DType::f32, {2}}}};
  auto runner = FusedRunner<TypeParam>::make(program, types);
  ASSERT_TRUE(runner) << runner.error().text();
  const Shape shape{2};
  const std::vector<float> five{5, 50}, three{3, 30};
  std::vector<float> y(2);
  const std::vector<TensorView> outputs{room(shape, y)};
  const BoundFeed a{5, view(shape, five)}, b{3, view(shape, three)}, other{4, view(shape, three)};
  const auto run = [&](std::initializer_list<BoundFeed> feeds) {
    const auto ran = runner->run(std::span(feeds.begin(), feeds.size()), outputs, false);
    return std::string(ran ? "ran" : ran.error().text());
  };
  EXPECT_EQ(run({a, b}), "ran");
  EXPECT_EQ(y, (std::vector<float>{2, 20}));
  EXPECT_EQ(run({a}), "feed 3 is not bound");
  EXPECT_EQ(run({a, b, a}), "feed 5 is bound twice");
  EXPECT_EQ(run({a, b, other}), "value 4 is bound, but it is no feed");
}

std::string told(const fused::FusedProgram& program, const fused::CutWire& cut, const Error& error) {
  String report;
  EXPECT_TRUE(fused::append_report(report, program, cut, error));
  return std::string(report.view());
}

// The second of two calls has no target, and nothing reads it.
TYPED_TEST(FusedRun, NamesTheStepWhoseTargetTheBackendLacks) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":2,"op_name":"custom_call","input_ids":[0],"attrs":{"target":"zrt.onnx.sin.v1","attrs":{}},"result_id":1,"mode_sensitive":false},
{"step_id":3,"op_name":"custom_call","input_ids":[1],"attrs":{"target":"no.such.v1","attrs":{}},"result_id":4,"mode_sensitive":false},
{"step_id":5,"op_name":"custom_call","input_ids":[1],"attrs":{"target":"zrt.onnx.sin.v1","attrs":{}},"result_id":7,"mode_sensitive":false}],
"outputs":{"y":7},"meta":[{"id":1,"dtype":"f32","shape":[2]},{"id":4,"dtype":"f32","shape":[2]},{"id":7,"dtype":"f32","shape":[2]}]})");
  const std::vector<fused::FeedType> types{{0, {DType::f32, {2}}}};
  fused::CutWire cut;
  const auto runner = FusedRunner<TypeParam>::make(program, types, {}, &cut);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code(), Errc::unimplemented);
  const std::string backend(TypeParam::name);
  EXPECT_EQ(
      told(program, cut, runner.error()), "step 3 (custom_call): " + backend + R"( has no custom call target no.such.v1
  input 1: produced, f32[2], declared as f32[2], from step 2 (custom_call)
  result 4, f32[2], declared as f32[2]
  backend inspected: )" + backend + "\n");
}

// What only lowering can tell: complex numbers have types, but are not computed.
TYPED_TEST(FusedRun, NamesTheStepThatCannotBeLowered) {
  const auto program = parsed(R"({"version":1,"feeds":[0],"steps":[
{"step_id":1,"op_name":"transpose","input_ids":[0],"attrs":{"dims":[0]},"result_id":2,"mode_sensitive":false},
{"step_id":4,"op_name":"elementwise_unary","input_ids":[2],"attrs":{"op":"neg"},"result_id":3,"mode_sensitive":false}],
"outputs":{"y":3}})");
  const std::vector<fused::FeedType> types{{0, {DType::cf32, {2}}}};
  fused::CutWire cut;
  const auto runner = FusedRunner<TypeParam>::make(program, types, {}, &cut);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code(), Errc::unimplemented);
  EXPECT_EQ(told(program, cut, runner.error()),
            R"(step 4 (elementwise_unary): elementwise_unary: operand x is cf32, and complex numbers are not computed
  input 2: produced, cf32[2], from step 1 (transpose)
  result 3, cf32[2], to output y
  backend inspected: )" +
                std::string(TypeParam::name) + "\n");
}

// Two steps of one op, of which data breaks the second, one that nothing reads, and one that the CPU expands.
TYPED_TEST(FusedRun, NamesTheStepWhoseDataBreaksItsOp) {
  const auto program = parsed(R"({"version":1,"feeds":[0,1,2],"steps":[
{"step_id":1,"op_name":"take","input_ids":[0,1],"attrs":{},"result_id":9,"mode_sensitive":false},
{"step_id":2,"op_name":"dropout","input_ids":[0],"attrs":{"rate":0.5},"result_id":3,"mode_sensitive":true},
{"step_id":3,"op_name":"stop_gradient","input_ids":[3],"attrs":{},"result_id":7,"mode_sensitive":false},
{"step_id":4,"op_name":"take","input_ids":[7,1],"attrs":{},"result_id":4,"mode_sensitive":false},
{"step_id":6,"op_name":"take","input_ids":[4,2],"attrs":{},"result_id":5,"mode_sensitive":false},
{"step_id":7,"op_name":"elementwise_unary","input_ids":[5],"attrs":{"op":"exp"},"result_id":6,"mode_sensitive":false}],
"outputs":{"y":6}})");
  const ir::ptir::TensorType index{DType::si64, {3}};
  const std::vector<fused::FeedType> types{{0, {DType::f32, {3}}}, {1, index}, {2, index}};
  auto runner = FusedRunner<TypeParam>::make(program, types);
  ASSERT_TRUE(runner) << runner.error().text();
  const std::vector<float> x{1, 2, 3};
  const std::vector<std::int64_t> good{0, 1, 2}, bad{0, 3, 1};
  std::vector<float> y(3);
  const std::vector<TensorView> outputs{room(kVector, y)};
  const auto indices = [](const std::vector<std::int64_t>& data) {
    return ConstTensorView{DType::si64, kVector, std::as_bytes(std::span(data))};
  };
  const BoundFeed first{0, view(kVector, x)}, second{1, indices(good)}, third{2, indices(bad)};
  fused::CutWire cut;
  const auto broken = [&](const std::vector<BoundFeed>& feeds, bool training) {
    const auto ran = runner->run(feeds, outputs, training, 0, {}, &cut);
    EXPECT_FALSE(ran);
    return ran ? std::string() : told(program, cut, ran.error());
  };
  const std::string backend = "  backend inspected: " + std::string(TypeParam::name) + "\n";
  for (const bool training : {false, true})
    EXPECT_EQ(broken({first, second, third}, training), R"(step 6 (take): take met data outside its contract
  input 4: produced, f32[3], from step 4 (take)
  input 2: bound, si64[3]
  result 5, f32[3], to step 7 (elementwise_unary)
)" + backend);
  EXPECT_EQ(broken({first}, false), R"(step 1 (take): feed 1 is not bound
  feed 1: not bound
  feed 2: not bound
  input 0: bound, f32[3]
  input 1: missing, a feed that is not bound, of no known type
  result 9, f32[3]
)" + backend);
  EXPECT_EQ(broken({first, second, {2, view(kVector, x)}}, false),
            R"(step 6 (take): feed 2 (feed2) is f32, expected si64
  value 2, f32[3]
  expected si64[3]
  actual f32[3]
  input 4: produced, f32[3], from step 4 (take)
  input 2: bound, f32[3]
  result 5, f32[3], to step 7 (elementwise_unary)
)" + backend);
  EXPECT_EQ(broken({first, second, third, third}, false), "feed 2 is bound twice\n  value 2, si64[3]\n" + backend);
  EXPECT_TRUE(runner->run(std::vector<BoundFeed>{first, second, {2, indices(good)}}, outputs, false, 0, {}, &cut));
  EXPECT_EQ(cut.step, fused::CutWire::kNone);
  EXPECT_TRUE(cut.unbound.empty());
}

}  // namespace
}  // namespace fused_run_test
