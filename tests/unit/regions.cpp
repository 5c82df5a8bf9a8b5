// SPDX-License-Identifier: Apache-2.0
// tests/unit/regions.cpp: ops that run regions: types, plans within plans, files, and what they compute.
// test-set: smoke brief
#include <zrt/ops/cond.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/reduce.hpp>
#include <zrt/ops/scan.hpp>
#include <zrt/ops/while_loop.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/read_plan.hpp>
#include <zrt/plan/write_plan.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <support/run_plan.hpp>

namespace regions_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr TensorType kScalar{DType::f32, {}};
const TensorType kTruth{DType::i1, {}};
const TensorType kVector{DType::f32, {3}};

ir::Builder builder() { return ir::Builder(*catalog_ops().table); }

ir::ValueId binary(ir::Builder& g, ops::BinaryKind kind, ir::ValueId a, ir::ValueId b) {
  return g.emit<ops::ElementwiseBinary>({.in = {a, b}, .params = {kind}})[0];
}

/// x -> f(x), for two different f.
ir::Graph unary_region(ops::UnaryKind kind) {
  ir::Builder g = builder();
  const auto x = g.input("x", kVector);
  g.output("y", g.emit<ops::ElementwiseUnary>({.in = {x}, .params = {kind}})[0]);
  auto graph = g.finish();
  EXPECT_TRUE(graph);
  return std::move(*graph);
}

ir::Graph choice() {
  ir::Builder g = builder();
  const auto pred = g.input("pred", kTruth);
  const auto x = g.input("x", kVector);
  const auto yes = g.region(unary_region(ops::UnaryKind::neg));
  const auto no = g.region(unary_region(ops::UnaryKind::exp));
  g.output("y", g.emit<ops::Cond>({.in = {pred, x}, .region = {yes, no}})[0]);
  auto graph = g.finish();
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

/// Sums the rows of xs, and gives each partial sum.
ir::Graph running_sum(std::uint32_t length) {
  ir::Builder body = builder();
  const auto sum = body.input("sum", kVector);
  const auto row = body.input("row", kVector);
  const auto next = binary(body, ops::BinaryKind::add, sum, row);
  body.output("sum", next);
  body.output("partial", next);
  ir::Builder g = builder();
  const auto zero = g.input("zero", kVector);
  const auto xs = g.input("xs", {DType::f32, {length, 3}});
  const auto region = g.region(std::move(*body.finish()));
  const auto out = g.emit<ops::Scan>({.in = {zero, xs}, .params = {1, 1}, .region = {region}});
  EXPECT_EQ(out.size(), 2u);
  g.output("sum", out[0]);
  g.output("partials", out[1]);
  auto graph = g.finish();
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

/// An f32 number as a value of truth is not to be had without compare, so the loop carries its truth.
ir::Graph loop(std::uint64_t limit) {
  ir::Builder proceed = builder();
  const auto again = proceed.input("again", kTruth);
  const auto x = proceed.input("x", kVector);
  proceed.output("more", again);
  proceed.output("again", again);
  proceed.output("x", x);
  ir::Builder body = builder();
  const auto a = body.input("again", kTruth);
  const auto b = body.input("x", kVector);
  body.output("again", a);
  body.output("x", binary(body, ops::BinaryKind::add, b, b));
  ir::Builder g = builder();
  const auto start = g.input("again", kTruth);
  const auto value = g.input("x", kVector);
  const auto p = g.region(std::move(*proceed.finish()));
  const auto q = g.region(std::move(*body.finish()));
  const auto out = g.emit<ops::WhileLoop>({.in = {start, value}, .params = {limit}, .region = {p, q}});
  g.output("x", out[1]);
  auto graph = g.finish();
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

plan::CompiledPlan compiled(const ir::Graph& graph) {
  auto plan = plan::compile(graph, catalog_ops(), reference_claims());
  EXPECT_TRUE(plan) << plan.error().text();
  return std::move(*plan);
}

Bytes bytes_of_floats(std::vector<float> values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<float> floats(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / 4);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

std::vector<Bytes> run(const plan::CompiledPlan& plan, std::vector<Bytes> inputs) {
  auto out = run_planned(plan, {}, StepData{std::move(inputs), {}, {}});
  EXPECT_TRUE(out) << out.error().text();
  return out ? std::move(*out) : std::vector<Bytes>{};
}

TEST(Regions, CondRunsTheChosenOne) {
  const auto plan = compiled(choice());
  EXPECT_EQ(floats(run(plan, {Bytes{std::byte{1}}, bytes_of_floats({1, 2, 3})})[0]), (std::vector<float>{-1, -2, -3}));
  EXPECT_EQ(floats(run(plan, {Bytes{std::byte{0}}, bytes_of_floats({0, 0, 0})})[0]), (std::vector<float>{1, 1, 1}));
}

TEST(Regions, ScanCarriesAndStacks) {
  const auto plan = compiled(running_sum(4));
  const auto out = run(plan, {bytes_of_floats({0, 0, 0}), bytes_of_floats({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})});
  EXPECT_EQ(floats(out[0]), (std::vector<float>{22, 26, 30}));
  EXPECT_EQ(floats(out[1]), (std::vector<float>{1, 2, 3, 5, 7, 9, 12, 15, 18, 22, 26, 30}));
}

TEST(Regions, ScanOfNothingGivesTheCarriedValues) {
  const auto plan = compiled(running_sum(0));
  const auto out = run(plan, {bytes_of_floats({5, 6, 7}), {}});
  EXPECT_EQ(floats(out[0]), (std::vector<float>{5, 6, 7}));
  EXPECT_TRUE(out[1].empty());
}

TEST(Regions, WhileEndsAtOnceOrAtItsLimit) {
  const auto plan = compiled(loop(3));
  EXPECT_EQ(floats(run(plan, {Bytes{std::byte{0}}, bytes_of_floats({1, 2, 3})})[0]), (std::vector<float>{1, 2, 3}));
  const auto endless = run_planned(plan, {}, StepData{{Bytes{std::byte{1}}, bytes_of_floats({1, 2, 3})}, {}, {}});
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code(), Errc::limit_exceeded);
}

TEST(Regions, NestAndSurviveTheFile) {
  // A scan whose body holds a cond.
  ir::Builder body = builder();
  const auto pred = body.input("pred", kTruth);
  const auto row = body.input("row", kVector);
  const auto yes = body.region(unary_region(ops::UnaryKind::neg));
  const auto no = body.region(unary_region(ops::UnaryKind::abs));
  body.output("pred", pred);
  body.output("y", body.emit<ops::Cond>({.in = {pred, row}, .region = {yes, no}})[0]);
  ir::Builder g = builder();
  const auto start = g.input("pred", kTruth);
  const auto xs = g.input("xs", {DType::f32, {2, 3}});
  const auto region = g.region(std::move(*body.finish()));
  g.output("ys", g.emit<ops::Scan>({.in = {start, xs}, .params = {1, 1}, .region = {region}})[1]);
  const auto plan = compiled(*g.finish());
  const auto file = plan::write_plan(plan);
  ASSERT_TRUE(file);
  const auto read = plan::read_plan(file->span(), *catalog_ops().table);
  ASSERT_TRUE(read) << read.error().text();
  const std::vector<Bytes> inputs{Bytes{std::byte{1}}, bytes_of_floats({1, -2, 3, -4, 5, -6})};
  const auto expected = std::vector<float>{-1, 2, -3, 4, -5, 6};
  EXPECT_EQ(floats(run(plan, inputs)[0]), expected);
  EXPECT_EQ(floats(run(*read, inputs)[0]), expected);
  const auto again = plan::write_plan(*read);
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::equal(file->begin(), file->end(), again->begin(), again->end()));
  // Whatever byte is lost, a typed error says so.
  for (std::size_t size = 0; size < file->size(); ++size)
    EXPECT_FALSE(plan::read_plan(file->span().first(size), *catalog_ops().table)) << size;
}

TEST(Regions, BordersMustFit) {
  {
    ir::Builder g = builder();
    const auto pred = g.input("pred", kTruth);
    const auto x = g.input("x", kScalar);  // the regions take a vector
    const auto yes = g.region(unary_region(ops::UnaryKind::neg));
    const auto no = g.region(unary_region(ops::UnaryKind::exp));
    (void)g.emit<ops::Cond>({.in = {pred, x}, .region = {yes, no}});
    const auto r = g.finish();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::shape_mismatch);
    EXPECT_NE(r.error().text().find("region on_true, parameter 0"), std::string_view::npos) << r.error().text();
  }
  {
    ir::Graph graph = choice();
    graph.regions[1].values[graph.regions[1].outputs[0].value.index].type = kScalar;
    EXPECT_FALSE(ir::verify(graph, *catalog_ops().table));
  }
  {
    // One region, two nodes.
    ir::Graph graph = choice();
    const ir::Node& n = graph.nodes[0];
    graph.operands[n.first_operand + n.inputs + n.weights + 1] = graph.node_regions(n)[0];
    const auto r = ir::verify(graph, *catalog_ops().table);
    ASSERT_FALSE(r);
    EXPECT_NE(r.error().text().find("has two nodes"), std::string_view::npos) << r.error().text();
  }
}

TEST(Regions, DepthIsBounded) {
  ir::Graph graph = choice();
  for (std::size_t depth = 0; depth < kMaxRegionDepth + 1; ++depth) {
    ir::Builder g = builder();
    const auto pred = g.input("pred", kTruth);
    const auto x = g.input("x", kVector);
    const auto yes = g.region(std::move(graph));
    ir::Builder other = builder();
    (void)other.input("pred", kTruth);
    other.output("y", other.input("x", kVector));
    const auto no = g.region(std::move(*other.finish()));
    g.output("y", g.emit<ops::Cond>({.in = {pred, pred, x}, .region = {yes, no}})[0]);
    auto next = g.finish();
    ASSERT_TRUE(next) << next.error().text();
    graph = std::move(*next);
  }
  const auto r = ir::verify(graph, *catalog_ops().table);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::limit_exceeded);
}

}  // namespace
}  // namespace regions_test
