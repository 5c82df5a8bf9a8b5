// SPDX-License-Identifier: Apache-2.0
// tests/unit/passes.cpp: the passes that fuse nothing: what they merge, drop and compute ahead, and what they leave alone.
#include <zrt/ir/passes/pipeline.hpp>
#include <zrt/ir/ptir/lower.hpp>
#include <zrt/ir/verify.hpp>

#include <support/fusion_program.hpp>
#include <support/run_plan.hpp>

// In examples/engines/programs_reference.cpp.
extern template struct zrt::ir::Evaluations<zrt::ops::Catalog>;

namespace passes_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<T>;
using Ops = std::vector<std::string>;

ir::PassContext context() {
  return {catalog_ops(), OpSet::of(ops::Catalog{}), &ir::Evaluations<ops::Catalog>::table()};
}

/// The graph of a program of one f32 input.
ir::Graph graph_of(const ir::ptir::Shape& shape, const std::function<void(B&, const T&)>& build) {
  B b;
  build(b, b.parameter({DType::f32, shape}));
  const auto program = b.finish();
  EXPECT_TRUE(program) << program.error().text();
  const std::array shapes{shape};
  auto graph = ir::ptir::lower(*program, shapes, *catalog_ops().table);
  EXPECT_TRUE(graph) << graph.error().text();
  return std::move(*graph);
}

std::vector<std::string> names(const ir::Graph& g) {
  std::vector<std::string> found;
  for (const ir::Node& n : g.nodes) found.emplace_back(catalog_ops().row(n.opcode)->name);
  return found;
}

bool run(ir::Graph& g, ir::Pass pass) {
  const auto changed = pass(g, context());
  EXPECT_TRUE(changed) << changed.error().text();
  const auto verified = ir::verify(g, *catalog_ops().table);
  EXPECT_TRUE(verified) << verified.error().text();
  return changed && *changed;
}

TEST(DeadCode, WhatNothingReadsGoesWithItsWeightsAndData) {
  ir::Graph g = graph_of({4}, [](B& b, const T& x) {
    const T unread = b.exp(x) * b.constant({4}, random_floats(4, 1));
    (void)unread;
    const T y = b.neg(x);
    b.result(y * b.constant({4}, random_floats(4, 2)));
  });
  EXPECT_EQ(g.nodes.size(), 6u);
  EXPECT_TRUE(run(g, &ir::drop_dead_code));
  EXPECT_EQ(names(g), (Ops{"elementwise_unary", "constant", "elementwise_binary"}));
  EXPECT_EQ(g.weights.size(), 1u);
  EXPECT_EQ(g.constants.size(), 16u);
  EXPECT_EQ(g.inputs.size(), 1u);
  EXPECT_FALSE(run(g, &ir::drop_dead_code));
}

/// A graph with one state, which two nodes write and none reads.
ir::Graph state_graph() {
  ir::Builder b(*catalog_ops().table);
  const SymbolId rows = b.symbol(Name("tokens"), 64);
  const ir::StateId cache = b.state({StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 4, 4, 0}});
  const TensorType keys{DType::f32, {Dim(1, rows), 4}};
  const ir::ValueId k = b.input(Name("k"), keys);
  const ir::ValueId v = b.input(Name("v"), keys);
  for (int i = 0; i < 2; ++i) (void)b.emit<ops::KvWriteBatched>({.in = {k, v}, .state = cache, .params = {1, 4, 4}});
  b.output(Name("k"), k);
  auto g = b.finish();
  EXPECT_TRUE(g) << g.error().text();
  return g ? std::move(*g) : ir::Graph();
}

/// Between two negations: what is left of it.
Ops left_of(const std::function<T(B&, const T&)>& identity) {
  ir::Graph g = graph_of({3, 4}, [&](B& b, const T& x) { b.result(b.neg(identity(b, b.neg(x)))); });
  const bool changed = run(g, &ir::drop_identities);
  EXPECT_TRUE(run(g, &ir::drop_dead_code) || !changed);
  EXPECT_FALSE(run(g, &ir::drop_identities));
  return names(g);
}

TEST(DropIdentities, WhatIsItsInputIsGone) {
  const Ops gone{"elementwise_unary", "elementwise_unary"};
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.stop_gradient(x); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.cast(x, DType::f32); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.reshape(x, {3, 4}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.reshape(b.reshape(x, {2, 1, 6}), {3, 4}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.transpose(x, {0, 1}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) {
              return b.reshape(b.transpose(b.reshape(x, {1, 3, 1, 4}), {1, 2, 0, 3}), {3, 4});
            }),
            gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.broadcast_to(x, {3, 4}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.reshape(b.broadcast_to(x, {1, 3, 4}), {3, 4}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.slice(x, {0, 0}, {3, 4}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.concat({x}, 0); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.concat({x, b.constant({0, 4}, {})}, 0); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.tile(x, {1, 1}); }), gone);
  EXPECT_EQ(left_of([](B& b, const T& x) { return b.pad(x, {0, 0}, {0, 0}, {0, 0}, b.scalar(DType::f32, 2.0)); }),
            gone);
}

TEST(DropIdentities, NearMisses) {
  const auto kept = [](const std::function<T(B&, const T&)>& other) { return left_of(other).size() > 2; };
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.cast(b.cast(x, DType::f16), DType::f32); }));
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.reshape(x, {4, 3}); }));
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.reshape(b.transpose(x, {1, 0}), {3, 4}); }));
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.concat({b.constant({0, 4}, {}), b.exp(x)}, 0); }));
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.slice(x, {0, 0}, {2, 4}); }));
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.tile(x, {1, 2}); }));
  EXPECT_TRUE(kept([](B& b, const T& x) { return b.pad(x, {1, 0}, {0, 0}, {0, 0}, b.scalar(DType::f32, 2.0)); }));
  // Any byte but 0 is a true i1, and a cast gives the byte 1.
  B b;
  b.result(b.cast(b.parameter({DType::i1, {3}}), DType::i1));
  const auto program = b.finish();
  ASSERT_TRUE(program);
  const HostValue bytes{{DType::i1, {3}}, {std::byte{0}, std::byte{1}, std::byte{2}}};
  EXPECT_EQ(run_program(*program, {&bytes, 1}).outputs[0].bytes,
            (std::vector{std::byte{0}, std::byte{1}, std::byte{1}}));
}

TEST(DropIdentities, PortsAndRegionsPassWhatTheyTake) {
  // Every bit of a NaN's payload goes through, from an input straight to an output too.
  B b;
  const T x = b.parameter({DType::f32, {2}});
  const auto branch = [&] {
    return b.region(Name(), [&] { b.result(b.stop_gradient(b.parameter({DType::f32, {2}}))); });
  };
  b.result(b.cast(x, DType::f32));
  b.result(b.reshape(x, {2}));
  b.result(b.cond(b.scalar(DType::i1, 1.0), branch(), branch(), {x})[0]);
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().text();
  HostValue value = random_value({2}, 1);
  const std::uint32_t signalling = 0x7fa12345u;
  std::memcpy(value.bytes.data(), &signalling, sizeof signalling);
  const ProgramRun r = run_program(*program, {&value, 1}, 2);
  ASSERT_FALSE(r.refused) << r.refused->text();
  for (const HostValue& y : r.outputs) EXPECT_EQ(y.bytes, value.bytes);
}

TEST(DropIdentities, WhatIsWrittenOverStays) {
  ir::Builder b(*catalog_ops().table);
  const ir::ValueId x = b.input(Name("x"), {DType::f32, {4}});
  const ir::ValueId same = b.emit<ops::Reshape>({.in = {x}, .params = {ShapeParams::of(Shape{4})}})[0];
  const ir::ValueId over = b.emit<ops::ElementwiseUnary>({.in = {same}, .params = {ops::UnaryKind::exp}})[0];
  b.in_place(0, 0);
  b.output(Name("over"), over);
  b.output(Name("x"), x);
  auto g = b.finish();
  ASSERT_TRUE(g) << g.error().text();
  EXPECT_FALSE(run(*g, &ir::drop_identities));
}

TEST(DropIdentities, ExtentsThatFollowTheStepAreTheSameByTheirSymbol) {
  for (const bool same : {true, false}) {
    ir::Builder b(*catalog_ops().table);
    const SymbolId rows = b.symbol(Name("rows"), 8);
    const SymbolId other = b.symbol(Name("other"), 8);
    const ir::ValueId x = b.input(Name("x"), {DType::f32, {Dim(1, rows), 4}});
    const Shape to{Dim(1, same ? rows : other), 4};
    const ir::ValueId y = b.emit<ops::Slice>({.in = {x}, .params = {{}, ShapeParams::of(to)}})[0];
    b.output(Name("y"), b.emit<ops::ElementwiseUnary>({.in = {y}, .params = {ops::UnaryKind::neg}})[0]);
    auto g = b.finish();
    ASSERT_TRUE(g) << g.error().text();
    EXPECT_EQ(run(*g, &ir::drop_identities), same);
  }
}

TEST(CommonSubexpressions, EqualNodesBecomeOne) {
  ir::Graph g = graph_of({4}, [](B& b, const T& x) {
    const auto product = [&] {
      const T y = b.exp(x);
      return y * b.constant({4}, random_floats(4, 1));
    };
    const T left = product();
    b.result(left + product());
    const T y = b.neg(x);
    b.result(y + b.constant({4}, random_floats(4, 2)));
  });
  EXPECT_TRUE(run(g, &ir::merge_common_subexpressions));
  EXPECT_TRUE(run(g, &ir::drop_dead_code));
  EXPECT_EQ(names(g), (Ops{"elementwise_unary", "constant", "elementwise_binary", "elementwise_binary",
                           "elementwise_unary", "constant", "elementwise_binary"}));
  EXPECT_FALSE(run(g, &ir::merge_common_subexpressions));
}

TEST(CommonSubexpressions, ParametersAndOrderOfOperandsCount) {
  ir::Graph g = graph_of({4}, [](B& b, const T& x) {
    const T y = b.exp(x);
    b.result(b.maximum(x, y));
    b.result(b.maximum(y, x));
    b.result(b.minimum(x, y));
  });
  EXPECT_FALSE(run(g, &ir::merge_common_subexpressions));
  EXPECT_EQ(g.nodes.size(), 4u);
}

TEST(CommonSubexpressions, DrawsAreNotMerged) {
  ir::Graph g = graph_of({4}, [](B& b, const T& x) {
    b.result(x + b.rng_uniform({4}, DType::f32, 1, 2));
    b.result(x + b.rng_uniform({4}, DType::f32, 1, 2));
  });
  EXPECT_FALSE(run(g, &ir::merge_common_subexpressions));
}

TEST(CommonSubexpressions, WhatIsWrittenOverIsNotMerged) {
  ir::Builder b(*catalog_ops().table);
  const ir::ValueId x = b.input(Name("x"), {DType::f32, {4}});
  const auto negated = [&] { return b.emit<ops::ElementwiseUnary>({.in = {x}, .params = {ops::UnaryKind::neg}})[0]; };
  const ir::ValueId first = negated();
  const ir::ValueId second = negated();
  const ir::ValueId over = b.emit<ops::ElementwiseUnary>({.in = {first}, .params = {ops::UnaryKind::exp}})[0];
  b.in_place(0, 0);
  b.output(Name("over"), over);
  b.output(Name("second"), second);
  auto g = b.finish();
  ASSERT_TRUE(g) << g.error().text();
  EXPECT_FALSE(run(*g, &ir::merge_common_subexpressions));
  EXPECT_EQ(g->outputs[1].value, second);
}

TEST(ConstantFolding, WhatNoInputReachesIsComputed) {
  const auto build = [](B& b, const T& x) {
    const T row = b.iota({4}, DType::f32, 0) * b.constant({4}, random_floats(4, 1));
    const T table = b.exp(b.broadcast_to(row, {3, 4})) + b.constant({3, 1}, random_floats(3, 2));
    b.result(x * table);
  };
  ir::Graph g = graph_of({3, 4}, build);
  EXPECT_TRUE(run(g, &ir::fold_constants));
  EXPECT_TRUE(run(g, &ir::drop_dead_code));
  EXPECT_EQ(names(g), (Ops{"constant", "elementwise_binary"}));
  const FusionResult r = fuse({{3, 4}}, [&](B& b, const In& in) {
    const T row = b.iota({4}, DType::f32, 0) * b.constant({4}, random_floats(4, 1));
    const T table = b.exp(b.broadcast_to(row, {3, 4})) + b.constant({3, 1}, random_floats(3, 2));
    return in[0] * table;
  });
  EXPECT_EQ(r.worst, 0.0);
}

TEST(ConstantFolding, WhatOnlySpreadsIsNotStored) {
  ir::Graph g = graph_of({3, 4}, [](B& b, const T& x) {
    b.result(x + b.broadcast_to(b.constant({4}, random_floats(4, 1)), {3, 4}));
    b.result(b.cast(b.iota({3, 4}, DType::si32, 0), DType::f32) + x);
  });
  EXPECT_TRUE(run(g, &ir::fold_constants));
  EXPECT_TRUE(run(g, &ir::drop_dead_code));
  EXPECT_EQ(names(g), (Ops{"constant", "broadcast_to", "elementwise_binary", "constant", "elementwise_binary"}));
}

TEST(ConstantFolding, DrawsViolationsAndLargeResultsAreLeftAlone) {
  const auto build = [](B& b, const T& x) {
    b.result(x + b.neg(b.rng_uniform({4}, DType::f32, 1, 2)));
    b.result(b.scalar(DType::si32, 1.0) / b.scalar(DType::si32, 0.0));
  };
  ir::Graph g = graph_of({4}, build);
  EXPECT_FALSE(run(g, &ir::fold_constants));
  ir::Graph wide = graph_of({4}, [](B& b, const T& x) {
    b.result(x);
    b.result(b.neg(b.broadcast_to(b.constant(2.0f), {100})));
  });
  ir::PassContext small = context();
  small.folded_bytes = 399;
  EXPECT_FALSE(*ir::fold_constants(wide, small));
  small.folded_bytes = 400;
  EXPECT_TRUE(*ir::fold_constants(wide, small));
}

TEST(ConstantFolding, WhatTakesLongIsLeftToTheRun) {
  // A sum over a window of 2^28 elements at each of 2^14 places, and 2^30 products.
  ir::Graph g = graph_of({4}, [](B& b, const T& x) {
    b.result(x);
    const T wide = b.broadcast_to(b.constant(2.0f), {1 << 14});
    const std::int64_t window[]{1 << 28}, one[]{1}, low[]{1 << 28}, high[]{0};
    b.result(b.reduce_window(
        0, wide, {.size = window, .strides = one, .low = low, .high = high, .base_dilation = one, .dilation = one}));
    const T matrix = b.broadcast_to(b.constant(2.0f), {1 << 10, 1 << 10});
    b.result(b.dot_general(matrix, matrix, {.contract_lhs = {-1}, .contract_rhs = {0}}));
  });
  EXPECT_FALSE(run(g, &ir::fold_constants));
  // One budget for all rounds: of two negations there is room for one.
  ir::Graph two = graph_of({4}, [](B& b, const T& x) {
    b.result(x);
    b.result(b.neg(b.constant({100}, random_floats(100, 1))));
    b.result(b.neg(b.constant({100}, random_floats(100, 2))));
  });
  ir::FoldingBudget budget{.steps = 399};
  ir::PassContext limited = context();
  limited.budget = &budget;
  EXPECT_TRUE(*ir::optimise(two, limited));
  EXPECT_EQ(names(two), (Ops{"constant", "constant", "elementwise_unary"}));
}

TEST(Passes, StateStaysAndKeepsItsOrder) {
  ir::Graph g = state_graph();
  const std::size_t nodes = g.nodes.size();
  EXPECT_FALSE(run(g, &ir::merge_common_subexpressions));
  EXPECT_FALSE(run(g, &ir::drop_dead_code));
  EXPECT_EQ(g.nodes.size(), nodes);
}

TEST(Passes, RegionsAreWalked) {
  ir::Graph g = graph_of({}, [](B& b, const T& x) {
    const auto branch = [&](bool fused) {
      return b.region(Name(), [&, fused] {
        const T y = b.parameter({DType::f32, {}});
        b.result(fused ? y / (b.exp(-y) + 1.0) : y + b.exp(y) * 0.0 + b.exp(y));
      });
    };
    b.result(b.cond(b.lt(x, b.scalar(DType::f32, 0.0)), branch(true), branch(false), {x})[0]);
  });
  const auto changed = ir::optimise(g, context());
  ASSERT_TRUE(changed && *changed);
  ASSERT_EQ(g.regions.size(), 2u);
  EXPECT_EQ(names(g.regions[0]), (Ops{"gated_act"}));
  std::size_t exponentials = 0;
  for (const std::string& name : names(g.regions[1])) exponentials += name == "elementwise_unary" ? 1u : 0u;
  EXPECT_EQ(exponentials, 1u);
  EXPECT_TRUE(ir::verify(g, *catalog_ops().table));
}

TEST(Passes, AFusionThatTheBackendDoesNotClaimIsNotMade) {
  ir::Graph g = graph_of({2, 4}, [](B& b, const T& x) { b.result(b.softmax(x)); });
  ir::PassContext narrow = context();
  narrow.claims = OpSet();
  const std::size_t nodes = g.nodes.size();
  const auto changed = ir::optimise(g, narrow);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(*changed);
  EXPECT_EQ(g.nodes.size(), nodes);
}

}  // namespace
}  // namespace passes_test
