// SPDX-License-Identifier: Apache-2.0
// tests/unit/verify.cpp: one graph per rule of ir::verify that breaks it, and graphs that keep them all.
// test-set: smoke brief
#include <zrt/ir/verify.hpp>
#include <zrt/ops/broadcast_to.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <support/random_graph.hpp>

namespace verify_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// x [tokens, 32] -> neg -> y = x + neg -> out. Node 0 is neg, node 1 add; values 0, 1, 2.
struct Small {
  ir::Builder g{*catalog_ops().table};
  ir::ValueId x, n, y;
  Small() {
    const SymbolId tokens = g.symbol("tokens", 8);
    x = g.input("x", {DType::f32, {Dim(1, tokens), 32}});
    n = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
    y = g.emit<ops::ElementwiseBinary>({.in = {x, n}})[0];
    g.output("y", y);
  }
  ir::Graph& graph() { return g.graph(); }
  std::uint32_t& operand(std::size_t node, std::size_t i) {
    return graph().operands[graph().nodes[node].first_operand + i];
  }
};

/// The error that verify gives for `graph`: code, node, and every piece of text.
void expect_error(const ir::Graph& graph, Errc code, std::uint32_t node,
                  std::initializer_list<std::string_view> pieces) {
  const auto r = ir::verify(graph, *catalog_ops().table);
  ASSERT_FALSE(r);
  EXPECT_EQ(name(r.error().code()), name(code)) << r.error().text();
  EXPECT_EQ(r.error().instruction(), node) << r.error().text();
  if (node != Error::kNoIndex) {
    EXPECT_EQ(r.error().opcode(), number(graph.nodes[node].opcode));
  }
  for (std::string_view piece : pieces)
    EXPECT_NE(r.error().text().find(piece), std::string_view::npos) << piece << " in: " << r.error().text();
}
constexpr std::uint32_t kNoNode = Error::kNoIndex;

TEST(Verify, AcceptsWellFormedGraphs) {
  Small small;
  EXPECT_TRUE(ir::verify(small.graph(), *catalog_ops().table));
  EXPECT_TRUE(ir::verify(ir::Graph(), *catalog_ops().table));
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const auto random = random_graph(seed, 30);
    ASSERT_TRUE(random);
    EXPECT_TRUE(ir::verify(random->graph, *catalog_ops().table)) << seed;
  }
}

/// A finding is whole: phase, severity, code, node and op, tensor and its type, both shapes in words.
TEST(Verify, FindingsSayWhereAndWhat) {
  Small s;
  s.graph().values[2].type.shape.dims[1] = 33;
  const auto list = ir::findings(s.graph(), *catalog_ops().table);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  const Finding& f = (*list)[0];
  EXPECT_EQ(f.severity, Severity::error);
  EXPECT_EQ(f.error.phase(), Phase::graph);
  EXPECT_EQ(f.error.code(), Errc::shape_mismatch);
  EXPECT_EQ(f.error.instruction(), 1u);
  EXPECT_EQ(f.error.opcode(), number(ops::ElementwiseBinary::opcode));
  EXPECT_EQ(f.error.tensor(), 2u);
  EXPECT_EQ(f.type, s.graph().values[2].type);
  EXPECT_NE(f.error.text().find("33"), std::string_view::npos);
  EXPECT_NE(f.error.text().find("32"), std::string_view::npos);
  for (const Validation level : {Validation::strict, Validation::normal})
    EXPECT_FALSE(ir::verify(s.graph(), *catalog_ops().table, level));
  EXPECT_TRUE(ir::verify(s.graph(), *catalog_ops().table, Validation::none));
  EXPECT_EQ(ir::verify(s.graph(), *catalog_ops().table).error().phase(), Phase::graph);
}

TEST(Verify, AValueThatNobodyReadsFailsWhenStrict) {
  Small s;
  (void)s.g.emit<ops::ElementwiseUnary>({.in = {s.n}});
  const auto list = ir::findings(s.graph(), *catalog_ops().table);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  const Finding& f = (*list)[0];
  EXPECT_EQ(f.severity, Severity::warning);
  EXPECT_EQ(f.error.instruction(), 2u);
  EXPECT_EQ(f.error.tensor(), 3u);
  EXPECT_EQ(f.type, s.graph().values[3].type);
  EXPECT_NE(f.error.text().find("elementwise_unary: value 3"), std::string_view::npos) << f.error.text();
  EXPECT_TRUE(ir::verify(s.graph(), *catalog_ops().table));
  const auto strict = ir::verify(s.graph(), *catalog_ops().table, Validation::strict);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().instruction(), 2u);
  // The level of a compilation counts for its graph too: the plan has no such node any more.
  const OpSet& claims = reference_claims();
  EXPECT_TRUE(plan::compile(s.graph(), catalog_ops(), claims));
  const auto compiled = plan::compile(s.graph(), catalog_ops(), claims, {.validation = Validation::strict});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().phase(), Phase::graph);
}

TEST(Verify, UnknownOpcode) {
  Small s;
  s.graph().nodes[1].opcode = Opcode{255};
  expect_error(s.graph(), Errc::unsupported_opcode, 1, {"opcode 255", "catalog"});
}

TEST(Verify, Arity) {
  for (int which = 0; which < 3; ++which) {
    Small s;
    ir::Node& n = s.graph().nodes[1];
    (which == 0 ? n.inputs : which == 1 ? n.outputs : n.weights)++;
    expect_error(s.graph(), Errc::invalid_argument, 1, {"elementwise_binary", "inputs", "do not match the op"});
  }
}

TEST(Verify, OperandsOutsideTheirPool) {
  for (std::uint32_t first : {5u, 1000u, 0xfffffffeu}) {
    Small s;
    s.graph().nodes[1].first_operand = first;
    expect_error(s.graph(), Errc::invalid_argument, 1, {"elementwise_binary", "outside their pool"});
  }
  for (std::uint32_t offset : {17u, 0xffffffffu}) {
    Small s;
    s.graph().nodes[1].params_offset = offset;
    expect_error(s.graph(), Errc::invalid_argument, 1, {"elementwise_binary", "outside their pool"});
  }
}

TEST(Verify, ParameterBlock) {
  {
    Small s;
    s.graph().nodes[1].params_version = 9;
    expect_error(s.graph(), Errc::invalid_param_block_abi, 1, {"elementwise_binary", "version 9", "expected 1"});
  }
  {
    Small s;
    s.graph().nodes[1].params_bytes = 4;
    expect_error(s.graph(), Errc::invalid_param_block_abi, 1, {"elementwise_binary", "4 bytes", "expected 1"});
  }
  {
    // A block carries its opcode: the codec refuses one that was written for another op.
    const std::byte kind{};
    const ParamBlock block{1, ops::ElementwiseUnary::opcode, {&kind, 1}};
    const auto r = decode_params<ops::ElementwiseBinary>(block);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::invalid_param_block_abi);
    EXPECT_NE(r.error().text().find("for opcode 65, expected 66"), std::string_view::npos);
  }
  {
    Small s;
    s.graph().params[s.graph().nodes[0].params_offset] = std::byte{99};
    expect_error(s.graph(), Errc::invalid_params, 0, {"elementwise_unary", "op is out of range"});
  }
}

TEST(Verify, DanglingValues) {
  {
    Small s;
    s.operand(0, 0) = 2;  // neg reads what add produces later
    expect_error(s.graph(), Errc::dangling_value, 0, {"elementwise_unary", "input x", "value 2"});
  }
  {
    Small s;
    s.operand(1, 1) = 77;
    expect_error(s.graph(), Errc::dangling_value, 1, {"elementwise_binary", "input rhs", "value 77"});
  }
  {
    Small s;
    s.operand(1, 1) = ir::kNone;  // rhs is not optional
    expect_error(s.graph(), Errc::dangling_value, 1, {"elementwise_binary", "input rhs"});
  }
  {
    Small s;
    s.operand(1, 2) = 9;
    expect_error(s.graph(), Errc::dangling_value, 1, {"elementwise_binary", "output y names no value"});
  }
  {
    Small s;
    s.graph().inputs[0].value.index = 50;
    expect_error(s.graph(), Errc::dangling_value, kNoNode, {"input x names no value"});
  }
  {
    Small s;
    s.graph().outputs[0].value.index = 50;
    expect_error(s.graph(), Errc::dangling_value, kNoNode, {"output y", "nothing produces"});
  }
  {
    Small s;
    ASSERT_TRUE(s.graph().values.push_back({{DType::f32, {1}}, ir::kNone}));
    s.graph().outputs[0].value.index = 3;
    expect_error(s.graph(), Errc::dangling_value, kNoNode, {"output y", "nothing produces"});
  }
}

TEST(Verify, TwoProducers) {
  {
    Small s;
    s.operand(1, 2) = 1;  // add writes what neg wrote
    expect_error(s.graph(), Errc::overlapping_writers, 1, {"elementwise_binary", "value 1", "another producer"});
  }
  {
    Small s;
    s.operand(0, 1) = 0;  // neg writes the input
    expect_error(s.graph(), Errc::overlapping_writers, 0, {"elementwise_unary", "value 0"});
  }
  {
    Small s;
    ASSERT_TRUE(s.graph().inputs.push_back({"again", s.x}));
    expect_error(s.graph(), Errc::overlapping_writers, kNoNode, {"input again", "an input already"});
  }
}

TEST(Verify, InPlaceWritesMustBeDeclared) {
  {
    Small s;
    s.g.in_place(0, 1);  // add may write over rhs: neg's value, which nobody reads afterwards
    EXPECT_TRUE(ir::verify(s.graph(), *catalog_ops().table));
  }
  {
    ir::Builder g(*catalog_ops().table);
    const auto a = g.input("a", {DType::f32, {4, 8}});
    const auto b = g.input("b", {DType::f32, {4, 8}});
    g.output("y", g.emit<ops::Concat>({.in = {a, b}, .params = {1}})[0]);
    g.in_place(0, 0);
    expect_error(g.graph(), Errc::undeclared_in_place, 0, {"concat", "output y", "input 0"});
  }
  {
    Small s;
    s.operand(1, 3) = 7;  // the mark names an input that the node does not have
    expect_error(s.graph(), Errc::undeclared_in_place, 1, {"elementwise_binary", "input 6 does not exist"});
  }
  {
    ir::Builder g(*catalog_ops().table);
    const auto a = g.input("a", {DType::f32, {4, 8}});
    g.output("y", g.emit<ops::GatedAct>({.in = {a, {}}})[0]);
    g.in_place(0, 1);  // declared, but the optional operand is absent
    expect_error(g.graph(), Errc::undeclared_in_place, 0, {"gated_act", "input 1"});
  }
}

TEST(Verify, TwoWritersOverOneValue) {
  ir::Builder g(*catalog_ops().table);
  const auto a = g.input("a", {DType::f32, {4, 8}});
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {a, a}, .params = {.norm = {.dim = 8}}});
  g.in_place(0, 0);
  g.in_place(1, 1);
  g.output("sum", both[0]);
  g.output("y", both[1]);
  expect_error(g.graph(), Errc::overlapping_writers, 0, {"residual_rms_norm", "value 0", "twice"});
}

TEST(Verify, ReadsAfterAnInPlaceWrite) {
  {
    ir::Builder g(*catalog_ops().table);
    const auto a = g.input("a", {DType::f32, {4, 8}});
    const auto n = g.emit<ops::ElementwiseUnary>({.in = {a}})[0];
    g.in_place(0, 0);
    g.output("y", g.emit<ops::ElementwiseBinary>({.in = {n, a}})[0]);
    expect_error(g.graph(), Errc::unordered_read, 1, {"elementwise_binary", "input rhs", "value 0", "node 0"});
    const auto r = ir::verify(g.graph(), *catalog_ops().table);
    EXPECT_EQ(r.error().producer(), 0u);
    EXPECT_EQ(r.error().consumer(), 1u);
  }
  {
    ir::Builder g(*catalog_ops().table);
    const auto a = g.input("a", {DType::f32, {4, 8}});
    g.output("y", g.emit<ops::ElementwiseUnary>({.in = {a}})[0]);
    g.in_place(0, 0);
    g.output("a", a);
    expect_error(g.graph(), Errc::unordered_read, kNoNode, {"output a", "node 0"});
  }
}

TEST(Verify, TypesAsTheOpGivesThem) {
  {
    Small s;
    s.graph().values[2].type.shape.dims[1] = 33;
    expect_error(s.graph(), Errc::shape_mismatch, 1, {"elementwise_binary", "output y", "33", "32"});
  }
  {
    Small s;
    s.graph().values[2].type.dtype = DType::f16;
    expect_error(s.graph(), Errc::dtype_mismatch, 1, {"elementwise_binary", "output y", "f16", "f32"});
  }
  {
    Small s;
    s.graph().values[0].type.dtype = DType::i1;  // the operand of neg
    expect_error(s.graph(), Errc::dtype_mismatch, 0, {"elementwise_unary", "a dtype that neg is defined for", "i1"});
  }
  {
    Small s;
    s.graph().values[0].type.shape.dims[1] = 16;  // neg's result no longer fits
    expect_error(s.graph(), Errc::shape_mismatch, 0, {"elementwise_unary", "16"});
  }
}

TEST(Verify, TypesRanksAndSymbolsThatAreKnown) {
  {
    Small s;
    s.graph().values[1].type.dtype = static_cast<DType>(200);
    expect_error(s.graph(), Errc::shape_mismatch, kNoNode, {"value 1"});
  }
  {
    Small s;
    s.graph().values[1].type.shape.rank = 9;
    expect_error(s.graph(), Errc::shape_mismatch, kNoNode, {"value 1"});
  }
  {
    Small s;
    s.graph().values[1].type.shape.dims[0].symbol = 2;
    expect_error(s.graph(), Errc::shape_mismatch, kNoNode, {"value 1", "symbol"});
  }
  {
    Small s;
    for (std::size_t i = 1; i < kMaxSymbols; ++i) ASSERT_TRUE(s.graph().symbols.push_back({"more", 1}));
    expect_error(s.graph(), Errc::limit_exceeded, kNoNode, {"at most 15 symbols"});
  }
  {
    ir::Builder g(*catalog_ops().table);
    for (int i = 0; i < 16; ++i) (void)g.symbol("s", 1);
    const auto r = g.finish();
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::limit_exceeded);
  }
}

TEST(Verify, RankOfFusedOps) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {1, 2, 3, 2, 8}});
  g.output("y", g.emit<ops::ResidualAdd>({.in = {x, x}})[0]);
  expect_error(g.graph(), Errc::unsupported_tensor_rank, 0, {"residual_add", "5 axes", "at most 4"});
  ir::Builder primitive(*catalog_ops().table);
  const auto z = primitive.input("x", {DType::f32, {1, 2, 3, 2, 8}});
  primitive.output("y", primitive.emit<ops::ElementwiseUnary>({.in = {z}})[0]);
  EXPECT_TRUE(ir::verify(primitive.graph(), *catalog_ops().table));
}

/// x [4, 32] -> linear -> y, weight "w" and no bias.
struct Projected {
  Weights weights;
  ir::Builder g{*catalog_ops().table, system_allocator(), {}};
  Projected() {
    const std::vector<float> data(64 * 32, 1.0f);
    const auto x = g.input("x", {DType::f32, {4, 32}});
    const auto w = g.constant(std::as_bytes(std::span(data)), DType::f32, {64, 32});
    g.output("y", g.emit<ops::Linear>({.in = {x}, .w = {w, {}}})[0]);
  }
  ir::Graph& graph() { return g.graph(); }
};

TEST(Verify, Weights) {
  {
    Projected p;
    EXPECT_TRUE(ir::verify(p.graph(), *catalog_ops().table));
    p.graph().operands[p.graph().nodes[0].first_operand + 1] = ir::kNone;
    expect_error(p.graph(), Errc::missing_weight, 0, {"linear", "weight weight is not bound"});
  }
  {
    Projected p;
    p.graph().operands[p.graph().nodes[0].first_operand + 1] = 3;
    expect_error(p.graph(), Errc::missing_weight, 0, {"linear", "weight id 3"});
  }
  {
    Projected p;
    p.graph().weights[0].data_bytes -= 1;
    expect_error(p.graph(), Errc::shape_mismatch, kNoNode, {"weight constant.0", "size of its shape"});
  }
  {
    Projected p;
    p.graph().weights[0].shape = {46464, 2029193, 48912491};  // 2^62 + 128 elements: 2^64 + 512 bytes
    p.graph().weights[0].data_bytes = 512;
    expect_error(p.graph(), Errc::shape_mismatch, kNoNode, {"weight constant.0", "size of its shape"});
  }
  for (std::uint64_t offset : {std::uint64_t{64}, ~std::uint64_t{0} - 100}) {
    Projected p;
    p.graph().weights[0].data_offset = offset;
    expect_error(p.graph(), Errc::shape_mismatch, kNoNode, {"weight constant.0"});
  }
  {
    Projected p;
    p.graph().weights[0].dtype = static_cast<DType>(77);
    expect_error(p.graph(), Errc::dtype_mismatch, kNoNode, {"weight constant.0", "unknown type"});
  }
  {
    Projected p;
    p.graph().weights[0].shape.dims[0].symbol = 200;
    expect_error(p.graph(), Errc::shape_mismatch, kNoNode, {"weight constant.0", "symbol"});
  }
  {
    Projected p;
    p.graph().weights[0].dtype = DType::q8_0;
    p.graph().weights[0].shape = {64, 33};
    expect_error(p.graph(), Errc::shape_mismatch, kNoNode, {"weight constant.0", "whole blocks"});
  }
  {
    Projected p;
    p.graph().weights[0].name = Name(std::string(200, 'n'));
    expect_error(p.graph(), Errc::limit_exceeded, kNoNode, {"94 bytes"});
  }
}

/// Keys and values written to a paged state.
struct Stateful {
  ir::Builder g{*catalog_ops().table};
  explicit Stateful(const StateInfo& info = {StateLifecycle::kv_paged, DType::f16, 0, 0, {2, 8, 8, 0}}) {
    const auto k = g.input("k", {DType::f32, {4, 16}});
    const auto v = g.input("v", {DType::f32, {4, 16}});
    const auto state = g.state(info);
    ops::KvWriteBatched::Params params{};
    params.kv_heads = 2;
    params.key_dim = 8;
    params.value_dim = 8;
    (void)g.emit<ops::KvWriteBatched>({.in = {k, v}, .state = state, .params = params});
  }
  ir::Graph& graph() { return g.graph(); }
};

TEST(Verify, States) {
  {
    Stateful s;
    EXPECT_TRUE(ir::verify(s.graph(), *catalog_ops().table))
        << ir::verify(s.graph(), *catalog_ops().table).error().text();
    s.graph().nodes[0].state.index = 4;
    expect_error(s.graph(), Errc::invalid_state, 0, {"kv_write_batched", "state id 4"});
  }
  {
    Stateful s;
    s.graph().nodes[0].state = {};
    expect_error(s.graph(), Errc::invalid_state, 0, {"kv_write_batched", "lifecycle"});
  }
  // Attention sees no position whose page may have gone back.
  for (const std::uint32_t window : {0u, 3u, 8u, 9u}) {
    Stateful s({StateLifecycle::kv_paged, DType::f16, 1, 0, {2, 8, 8, 8}});
    const auto q = s.g.input("q", {DType::f32, {4, 16}});
    s.g.output("y", s.g.emit<ops::FlashAttnBatched>(
                        {.in = {q},
                         .state = {0},
                         .params = {.heads = 2, .kv_heads = 2, .key_dim = 8, .value_dim = 8, .window = window}})[0]);
    const auto graph = s.g.finish();
    EXPECT_EQ(graph.has_value(), window == 3 || window == 8) << window;
    if (graph) continue;
    EXPECT_EQ(graph.error().code(), Errc::invalid_state);
    EXPECT_NE(
        graph.error().text().find("the state keeps the last 8 positions, attention sees " + std::to_string(window)),
        std::string_view::npos)
        << graph.error().text();
  }
  {
    Stateful s;
    s.graph().states[0].lifecycle = StateLifecycle::recurrent;
    expect_error(s.graph(), Errc::invalid_state, 0, {"kv_write_batched", "lifecycle"});
  }
  {
    Stateful s;
    s.graph().states[0].extents[0] = 3;
    expect_error(s.graph(), Errc::invalid_state, 0, {"kv_write_batched", "3 heads", "expected 2"});
  }
  {
    Stateful s;
    s.graph().states[0].dtype = DType::q5_0;
    expect_error(s.graph(), Errc::invalid_state, 0, {"kv_write_batched", "q5_0", "expected f32, f16, bf16, q8_0 or"});
  }
  {
    Stateful s;
    s.graph().states[0].dtype = static_cast<DType>(250);
    expect_error(s.graph(), Errc::invalid_state, kNoNode, {"state 0"});
  }
  {
    Stateful s;
    s.graph().states[0].lifecycle = static_cast<StateLifecycle>(9);
    expect_error(s.graph(), Errc::invalid_state, kNoNode, {"state 0"});
  }
}

TEST(Verify, ReshapeKeepsTheElementCountAtEveryStep) {
  // 3 is the prime that the number of elements could be mistaken for; 1 the bound that hides it.
  for (std::uint32_t extent : {1u, 2u, 3u, 5u, 8u}) {
    ir::Builder g(*catalog_ops().table);
    const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", extent))}});
    g.output("y", g.emit<ops::Reshape>({.in = {x}, .params = {ShapeParams::of({extent})}})[0]);
    const auto r = g.finish();
    ASSERT_FALSE(r) << extent;
    EXPECT_EQ(r.error().code(), Errc::shape_mismatch);
  }
}

TEST(Verify, BuilderKeepsTheFirstError) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::i1, {4}});
  const auto y = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  EXPECT_FALSE(y.present());
  g.output("y", y);
  (void)g.weight("missing", {3});
  const auto r = g.finish();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::dtype_mismatch);
  EXPECT_EQ(r.error().instruction(), 0u);
}

TEST(Verify, BuilderLooksWeightsUp) {
  Weights weights;
  std::mt19937 random(1);
  weights.add_random("w", DType::f32, 4, 8, random);
  ir::Builder missing(*catalog_ops().table, system_allocator(), weights.lookup());
  EXPECT_FALSE(missing.optional_weight("none", {4, 8}).present());
  EXPECT_FALSE(missing.failed());
  (void)missing.weight("none", {4, 8});
  EXPECT_EQ(missing.finish().error().code(), Errc::missing_weight);
  ir::Builder shape(*catalog_ops().table, system_allocator(), weights.lookup());
  (void)shape.weight("w", {8, 4});
  EXPECT_EQ(shape.finish().error().code(), Errc::shape_mismatch);
}

}  // namespace
}  // namespace verify_test
