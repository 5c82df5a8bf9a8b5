// SPDX-License-Identifier: Apache-2.0
// tests/unit/toy_backend.cpp: a backend with its own memory and command list runs the same plans.
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>
#include <support/run_with.hpp>
#include <support/toy_backend.hpp>

namespace toy_backend_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr OpSet kToyClaims = OpSet::of(toy::Backend::Claims{});

static_assert(Backend<toy::Backend>);
static_assert(Runs<toy::Backend, ops::Linear>);
static_assert(Runs<toy::Backend, ops::ResidualRmsNorm>, "by its expansion");
static_assert(!Runs<toy::Backend, ops::GreedyToken>);
static_assert(boost::mp11::mp_size<OpsNotRun<toy::Backend, toy::Catalog>>::value == 1);

/// x [tokens, 32] -> softmax(rms_norm(x) + x) -> y.
Result<plan::CompiledPlan> softmax_plan(Allocator allocator = system_allocator()) {
  ir::Builder g(*catalog_ops().table, allocator);
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  const auto n = g.emit<ops::RmsNorm>({.in = {x}, .params = {.dim = 32}})[0];
  const auto s = g.emit<ops::ResidualAdd>({.in = {x, n}})[0];
  g.output("y", g.emit<ops::Softmax>({.in = {s}})[0]);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  return plan::compile(*graph, catalog_ops(), kToyClaims);
}

TEST(ToyBackend, RandomGraphsGiveTheReferenceBits) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const auto graph = random_graph(seed + 90000, 3 + seed % 30);
    ASSERT_TRUE(graph);
    // Compiled for each backend: the toy runs residual_rms_norm as two ops.
    const auto toy_plan = plan::compile(graph->graph, catalog_ops(), kToyClaims);
    const auto reference_plan = plan::compile(graph->graph, catalog_ops(), reference_claims());
    ASSERT_TRUE(toy_plan && reference_plan);
    std::mt19937 random(seed);
    const StepData step =
        random_step(toy_plan->plan, extents(8, 4), extents(1 + random() % 8, 1 + random() % 4), random);
    toy::Device device;
    const auto on_toy = run_with<toy::Backend>(*toy_plan, graph->weights.source(), step, device);
    ASSERT_TRUE(on_toy) << on_toy.error().text();
    const auto on_host = run_planned(*reference_plan, graph->weights.source(), step);
    ASSERT_TRUE(on_host) << on_host.error().text();
    ASSERT_TRUE(*on_toy == *on_host);
    EXPECT_EQ(device.expected(), toy_plan->plan.weights.size());
    EXPECT_GE(device.uploads(), toy_plan->plan.inputs.size());
    EXPECT_EQ(device.downloads(), toy_plan->plan.outputs.size());
  }
}

TEST(ToyBackend, BindRecordsAndLaunchReplays) {
  const auto plan = softmax_plan();
  ASSERT_TRUE(plan) << plan.error().text();
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(plan->plan, {}, device);
  ASSERT_TRUE(weights);
  auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
  ASSERT_TRUE(states);
  auto bound = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *weights, *states, {extents(8, 1), 1}, device);
  ASSERT_TRUE(bound) << bound.error().text();
  toy::Program& program = bound->program();
  EXPECT_EQ(program.launches(), 0u) << "bind launches nothing";
  EXPECT_EQ(program.bounds().extents.value, extents(8, 1).value) << "the recorder is told the largest step";

  // rms_norm; residual_add waits for it; softmax waits for that; then the border of the stage.
  using toy::CommandKind;
  const std::vector<std::pair<CommandKind, std::uint32_t>> expected{{CommandKind::launch, 0}, {CommandKind::wait, 0},
                                                                    {CommandKind::launch, 1}, {CommandKind::wait, 1},
                                                                    {CommandKind::launch, 2}, {CommandKind::finish, 0}};
  ASSERT_EQ(program.commands().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(program.commands()[i].kind, expected[i].first) << i;
    EXPECT_EQ(program.commands()[i].instruction, expected[i].second) << i;
  }

  std::mt19937 random(1);
  for (std::uint32_t tokens = 1; tokens <= 8; ++tokens) {
    // One record, many steps: the number of tokens is data.
    const StepData data = random_step(plan->plan, extents(8, 1), extents(tokens, 1), random);
    const toy::Tensor x = bound->tensor(plan->plan.input("x"));
    ASSERT_TRUE(device.write(x, data.inputs[0]));
    ExecutionContext step;
    step.extents = data.actual;
    const auto done = program.launch(device, step, {});
    ASSERT_TRUE(done && *done);
    Bytes y(tokens * 32 * 4);
    const toy::Tensor out = bound->tensor(plan->plan.output("y"));
    ASSERT_TRUE(device.read(out, 0, y));
    const auto host = run_planned(*plan, {}, data);
    ASSERT_TRUE(host);
    EXPECT_TRUE(y == (*host)[0]);
    EXPECT_EQ(program.submissions(), tokens);
    EXPECT_EQ(program.launches(), 3 * tokens);
    EXPECT_EQ(program.finishes(), tokens);
  }
}

TEST(ToyBackend, StopEndsAStepBetweenLaunches) {
  const auto plan = softmax_plan();
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(plan->plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
  auto bound = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *weights, *states, {extents(8, 1), 1}, device);
  ASSERT_TRUE(bound);
  ExecutionContext step;
  step.extents = extents(1, 1);
  const auto done = bound->program().launch(device, step, {nullptr, [](const void*) noexcept { return true; }});
  ASSERT_TRUE(done);
  EXPECT_FALSE(*done);
  EXPECT_EQ(bound->program().launches(), 1u);
}

TEST(ToyBackend, AViewIsNotLaunchedAndItsReaderWaitsForWhoeverWroteIt) {
  // 0: s = softmax(x); 1: r, its rows 2 and 3; 2: f, r as one row; 3: y = -f. s is an output too.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  const auto s = g.emit<ops::Softmax>({.in = {x}})[0];
  ops::SliceParams rows;
  rows.sizes = ShapeParams::of({2, 32});
  rows.starts[0] = 2;
  const auto r = g.emit<ops::Slice>({.in = {s}, .params = rows})[0];
  const auto f = g.emit<ops::Reshape>({.in = {r}, .params = {ShapeParams::of({64})}})[0];
  g.output("y", g.emit<ops::ElementwiseUnary>({.in = {f}})[0]);
  g.output("s", s);
  const auto plan = plan::compile(*g.finish(), catalog_ops(), kToyClaims);
  ASSERT_TRUE(plan) << plan.error().text();
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(plan->plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
  ASSERT_TRUE(weights && states);
  auto bound = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *weights, *states, {}, device);
  ASSERT_TRUE(bound) << bound.error().text();
  using toy::CommandKind;
  const std::vector<std::pair<CommandKind, std::uint32_t>> expected{
      {CommandKind::launch, 0}, {CommandKind::wait, 0}, {CommandKind::launch, 3}, {CommandKind::finish, 0}};
  const auto& commands = bound->program().commands();
  ASSERT_EQ(commands.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(commands[i].kind, expected[i].first) << i;
    EXPECT_EQ(commands[i].instruction, expected[i].second) << i;
  }
  std::mt19937 random(1);
  const StepData run = random_step(plan->plan, {}, {}, random);
  const auto got = run_with<toy::Backend>(*plan, {}, run, device);
  const auto apart = run_apart(*plan, {}, run);
  ASSERT_TRUE(got && apart);
  EXPECT_TRUE(*got == *apart);
}

TEST(ToyBackend, BatchCapabilityIsDecidedAtBind) {
  const auto plan = softmax_plan();
  ASSERT_TRUE(plan);
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(plan->plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 0, 0);
  ASSERT_TRUE(weights && states);
  auto at = [&](std::uint32_t slots) {
    return exec::bind<toy::Backend>(*plan, *catalog_ops().table, *weights, *states, {extents(8, 1), slots}, device);
  };
  EXPECT_TRUE(at(1));
  const auto two = at(2);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code(), Errc::batch_unsupported);
  EXPECT_EQ(two.error().instruction(), 2u);
  EXPECT_EQ(two.error().opcode(), number(ops::Softmax::opcode));
  for (std::string_view piece : {"toy", "softmax", "for one slot", "2 were asked"})
    EXPECT_NE(two.error().text().find(piece), std::string_view::npos) << two.error().text();

  // A route without that op serves as many slots as its own say.
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), 32}});
  g.output("y", g.emit<ops::ResidualAdd>({.in = {x, x}})[0]);
  const auto routed = plan::compile(*g.finish(), catalog_ops(), kToyClaims);
  ASSERT_TRUE(routed);
  auto none = exec::bind_weights<toy::Backend>(routed->plan, {}, device);
  auto stateless = exec::StateStore<toy::Backend>::make(routed->plan, device, 0, 0);
  const auto slots = [&](std::uint32_t count) {
    return exec::bind<toy::Backend>(*routed, *catalog_ops().table, *none, *stateless, {extents(8, 1), count}, device);
  };
  EXPECT_TRUE(slots(16));
  const auto many = slots(17);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code(), Errc::batch_unsupported);
  EXPECT_NE(many.error().text().find("at most 16 slots"), std::string_view::npos) << many.error().text();
}

TEST(ToyBackend, UnsupportedOpsFailBeforeAnythingRuns) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 32}});
  g.output("ids", g.emit<ops::GreedyToken>({.in = {x}})[0]);
  const auto graph = g.finish();
  ASSERT_TRUE(graph);
  // When the plan is compiled for the toy ...
  const auto compiled = plan::compile(*graph, catalog_ops(), kToyClaims);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code(), Errc::unsupported_opcode);
  EXPECT_EQ(compiled.error().opcode(), 72);
  EXPECT_NE(compiled.error().text().find("arg_max"), std::string_view::npos) << compiled.error().text();
  // ... or, when it was compiled for another backend, while it is bound.
  const auto other = plan::compile(*graph, catalog_ops(), reference_claims());
  ASSERT_TRUE(other);
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(other->plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(other->plan, device, 0, 0);
  const auto bound = exec::bind<toy::Backend>(*other, *catalog_ops().table, *weights, *states, {}, device);
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().code(), Errc::unsupported_opcode);
  EXPECT_EQ(bound.error().instruction(), 0u);
  EXPECT_NE(bound.error().text().find("toy does not claim opcode"), std::string_view::npos);
}

TEST(ToyBackend, StateIsReachedByHandle) {
  ir::Builder g(*catalog_ops().table);
  const SymbolId tokens = g.symbol("tokens", 4);
  const auto k = g.input("k", {DType::f32, {Dim(1, tokens), 2}});
  const auto state = g.state({StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 2, 2, 0}});
  (void)g.emit<ops::KvWriteBatched>({.in = {k, k}, .state = state, .params = {1, 2, 2}});
  const auto graph = g.finish();
  ASSERT_TRUE(graph);
  const auto plan = plan::compile(*graph, catalog_ops(), kToyClaims);
  ASSERT_TRUE(plan) << plan.error().text();
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(plan->plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(plan->plan, device, 3, 1);
  ASSERT_TRUE(weights && states);
  EXPECT_EQ(states->bytes(), 3u * 16u * 4u * 4u);
  auto bound = exec::bind<toy::Backend>(*plan, *catalog_ops().table, *weights, *states, {extents(4, 1), 1}, device);
  ASSERT_TRUE(bound) << bound.error().text();
  const std::array<float, 4> rows{1, 2, 3, 4};
  const toy::Tensor in = bound->tensor(plan->plan.input("k"));
  ASSERT_TRUE(device.write(in, std::as_bytes(std::span(rows))));
  const std::array<std::uint32_t, 2> slots{0, 0}, positions{0, 1};
  const std::array<std::uint32_t, 1> pages{2};
  const ExecutionContext step{.extents = extents(2, 1),
                              .tokens = 2,
                              .slots = slots.data(),
                              .positions = positions.data(),
                              .pages = pages.data(),
                              .pages_per_slot = 1,
                              .slot_count = 1};
  ASSERT_TRUE(bound->program().launch(device, step, {}));
  std::array<float, 64> page{};
  ASSERT_TRUE(device.read_unit(states->state(0), 2, std::as_writable_bytes(std::span(page))));
  // Keys lie dim by dim over the page's tokens, values token by token.
  EXPECT_EQ(page[0], 1.0f);
  EXPECT_EQ(page[1], 3.0f);
  EXPECT_EQ(page[16], 2.0f);
  EXPECT_EQ(page[17], 4.0f);
  EXPECT_EQ(page[32], 1.0f);
  EXPECT_EQ(page[33], 2.0f);
  page = {};
  ASSERT_TRUE(device.write_unit(states->state(0), 2, std::as_bytes(std::span(page))));
}

}  // namespace
}  // namespace toy_backend_test
