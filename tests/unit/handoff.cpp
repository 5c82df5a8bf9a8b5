// SPDX-License-Identifier: Apache-2.0
// tests/unit/handoff.cpp: what neighbouring stages must agree on.
#include <zrt/plan/compile.hpp>
#include <zrt/plan/read_plan.hpp>
#include <zrt/plan/stages.hpp>
#include <zrt/plan/write_plan.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>
#include <support/run_with.hpp>
#include <support/toy_backend.hpp>

namespace handoff_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr OpSet kToyClaims = OpSet::of(toy::Backend::Claims{});

/// One stage: takes `in` of `shape`, gives `out`.
plan::CompiledPlan stage(const Name& in, const Name& out, const Shape& shape, DType given = DType::f32) {
  ir::Builder g(*catalog_ops().table);
  (void)g.symbol("tokens", 8);
  const auto x = g.input(in, {DType::f32, shape});
  if (given == DType::f32)
    g.output(out, g.emit<ops::ElementwiseUnary>({.in = {x}})[0]);
  else
    g.output(out, g.input("other", {given, shape}));
  auto plan = plan::compile(*g.finish(), catalog_ops(), kToyClaims);
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? std::move(*plan) : plan::CompiledPlan();
}
const Shape kTokens32{Dim(1, 1), 32};

void expect_handoff_error(const Result<void>& r, std::initializer_list<std::string_view> pieces) {
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::stage_handoff);
  for (std::string_view piece : pieces)
    EXPECT_NE(r.error().text().find(piece), std::string_view::npos) << piece << " in: " << r.error().text();
}

TEST(Handoff, TypeShapeAndNameMustAgree) {
  const auto vision = stage("pixels", "image_embeddings", kTokens32);
  const auto scatter = stage("image_embeddings", "embeddings", kTokens32);
  EXPECT_TRUE(plan::check_handoff(vision.plan, scatter.plan, "image_embeddings"));
  expect_handoff_error(plan::check_handoff(vision.plan, scatter.plan, "embeddings"),
                       {"earlier stage has no output embeddings"});
  expect_handoff_error(plan::check_handoff(scatter.plan, vision.plan, "embeddings"),
                       {"later stage has no input embeddings"});
  expect_handoff_error(plan::check_handoff(stage("pixels", "image_embeddings", kTokens32, DType::f16).plan,
                                           scatter.plan, "image_embeddings"),
                       {"image_embeddings", "f16", "expected f32"});
  expect_handoff_error(
      plan::check_handoff(stage("pixels", "image_embeddings", {Dim(1, 1), 16}).plan, scatter.plan, "image_embeddings"),
      {"image_embeddings", "16", "expected", "32"});
  expect_handoff_error(
      plan::check_handoff(stage("pixels", "image_embeddings", {8, 32}).plan, scatter.plan, "image_embeddings"),
      {"image_embeddings", "expected"});
}

TEST(Handoff, StagesOfAModel) {
  const auto vision = stage("pixels", "image_embeddings", kTokens32);
  const auto scatter = stage("image_embeddings", "embeddings", kTokens32);
  const auto decoder = stage("embeddings", "logits", kTokens32);
  const auto again = stage("embeddings", "logits", kTokens32);
  const auto narrow = stage("embeddings", "logits", {Dim(1, 1), 8});
  EXPECT_TRUE(plan::check_stages({nullptr, nullptr, &decoder, &decoder}));
  EXPECT_TRUE(plan::check_stages({&vision, &scatter, &decoder, &decoder}));
  expect_handoff_error(plan::check_stages({}), {"decoder_prefill"});
  expect_handoff_error(plan::check_stages({nullptr, nullptr, &decoder, nullptr}), {"decoder_decode"});
  expect_handoff_error(plan::check_stages({nullptr, nullptr, &decoder, &again}), {"two plans", "one at two sizes"});
  auto stateful = stage("pixels", "image_embeddings", kTokens32);
  ASSERT_TRUE(stateful.plan.states.push_back({}));
  expect_handoff_error(plan::check_stages({&stateful, &scatter, &decoder, &decoder}), {"has state", "decoder"});
  expect_handoff_error(plan::check_stages({&vision, nullptr, &decoder, &decoder}), {"come together"});
  expect_handoff_error(plan::check_stages({nullptr, &scatter, &decoder, &decoder}), {"come together"});
  expect_handoff_error(plan::check_stages({&vision, &scatter, &narrow, &narrow}), {"embeddings"});
  expect_handoff_error(plan::check_stages({&scatter, &scatter, &decoder, &decoder}), {"image_embeddings"});
}

TEST(Handoff, LayoutAndSymbolsMustAgree) {
  auto vision = stage("pixels", "image_embeddings", kTokens32);
  auto scatter = stage("image_embeddings", "embeddings", kTokens32);
  vision.plan.outputs[0].layout = Layout::backend_native;
  expect_handoff_error(plan::check_handoff(vision.plan, scatter.plan, "image_embeddings"),
                       {"image_embeddings", "backend_native", "expected contiguous"});
  scatter.plan.inputs[0].layout = Layout::backend_native;
  EXPECT_TRUE(plan::check_handoff(vision.plan, scatter.plan, "image_embeddings"));
  // A file keeps the layout; no layout but these two can be handed over, and the host reads one alone.
  const auto bytes = plan::write_plan(vision);
  ASSERT_TRUE(bytes);
  const auto read = plan::read_plan(*bytes, *catalog_ops().table);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->plan.outputs[0].layout, Layout::backend_native);
  toy::Device device;
  const auto weights = exec::bind_weights<toy::Backend>(vision.plan, {}, device);
  const auto states = exec::StateStore<toy::Backend>::make(vision.plan, device, 0, 0);
  const auto bound =
      exec::bind<toy::Backend>(vision, *catalog_ops().table, *weights, *states, {extents(8, 1), 1}, device);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code(), Errc::stage_handoff);
  EXPECT_EQ(bound.error().phase(), Phase::bind);
  vision.plan.outputs[0].layout = Layout::strided;
  const auto judged = plan::validate(vision.plan, *catalog_ops().table, Validation::normal);
  ASSERT_FALSE(judged);
  EXPECT_NE(judged.error().text().find("image_embeddings is strided"), std::string_view::npos);

  vision = stage("pixels", "image_embeddings", kTokens32);
  scatter = stage("image_embeddings", "embeddings", kTokens32);
  scatter.plan.symbols[0].name = "rows";
  expect_handoff_error(plan::check_handoff(vision.plan, scatter.plan, "image_embeddings"),
                       {"image_embeddings", "tokens", "axis 0", "expected rows"});
}

TEST(Handoff, WhatAStageGivesLivesUntilTheNextHasTakenIt) {
  // The handed-over register is a plan output: nothing in its own stage may reuse its memory, and the
  // stage ends with a finish, after which the host may copy it on.
  const auto first = stage("pixels", "image_embeddings", kTokens32);
  const plan::RegisterRef given = first.plan.output("image_embeddings");
  EXPECT_EQ(first.liveness.register_last_read[plan::index(given)], plan::LivenessMap::kReadAfterEnd);
  const auto second = stage("image_embeddings", "embeddings", kTokens32);

  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(first.plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(first.plan, device, 0, 0);
  auto a = exec::bind<toy::Backend>(first, *catalog_ops().table, *weights, *states, {extents(8, 1), 1}, device);
  auto b = exec::bind<toy::Backend>(second, *catalog_ops().table, *weights, *states, {extents(8, 1), 1}, device);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->program().commands().back().kind, toy::CommandKind::finish);
  std::mt19937 random(4);
  const Bytes pixels = random_floats(3 * 32, random);
  ExecutionContext step;
  step.extents = extents(3, 1);
  const toy::Tensor in = a->tensor(first.plan.input("pixels"));
  ASSERT_TRUE(device.write(in, pixels));
  ASSERT_TRUE(a->program().launch(device, step, {}));
  EXPECT_EQ(a->program().finishes(), 1u);
  Bytes between(pixels.size());
  const toy::Tensor out = a->tensor(given);
  ASSERT_TRUE(device.read(out, 0, between));
  const toy::Tensor next = b->tensor(second.plan.input("image_embeddings"));
  ASSERT_TRUE(device.write(next, between));
  ASSERT_TRUE(b->program().launch(device, step, {}));
  Bytes embeddings(pixels.size());
  const toy::Tensor result = b->tensor(second.plan.output("embeddings"));
  ASSERT_TRUE(device.read(result, 0, embeddings));
  EXPECT_TRUE(embeddings == pixels) << "negated twice";
}

}  // namespace
}  // namespace handoff_test
