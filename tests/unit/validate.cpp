// SPDX-License-Identifier: Apache-2.0
// tests/unit/validate.cpp: plans judged at three levels, and hostile plans refused.
#include <zrt/ops/kv_write_batched.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/validate.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <support/random_graph.hpp>

namespace validate_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// x -> linear(w constant, no bias) -> residual_rms_norm, whose sum nobody reads; keys to a state.
plan::CompiledPlan sample() {
  ir::Builder g(*catalog_ops().table);
  const std::vector<float> data(8 * 32, 0.5f);
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 4)), 32}});
  const auto w = g.constant(std::as_bytes(std::span(data)), DType::f32, {8, 32});
  const auto y = g.emit<ops::Linear>({.in = {x}, .w = {w, {}}})[0];
  const auto both = g.emit<ops::ResidualRmsNorm>({.in = {y, y}, .params = {.norm = {.dim = 8}}});
  const auto state = g.state({StateLifecycle::kv_paged, DType::f32, 0, 0, {2, 4, 4, 0}});
  (void)g.emit<ops::KvWriteBatched>({.in = {y, y}, .state = state, .params = {2, 4, 4}});
  g.output("y", both[1]);
  auto compiled = plan::compile(*g.finish(), catalog_ops(), reference_claims());
  EXPECT_TRUE(compiled) << compiled.error().text();
  return compiled ? std::move(*compiled) : plan::CompiledPlan();
}

TEST(Validate, Levels) {
  const plan::CompiledPlan p = sample();
  EXPECT_TRUE(plan::validate(p.plan, *catalog_ops().table, Validation::normal));
  EXPECT_TRUE(plan::validate(p.plan, *catalog_ops().table, Validation::none));
  const auto strict = plan::validate(p.plan, *catalog_ops().table, Validation::strict);
  ASSERT_FALSE(strict);
  EXPECT_EQ(strict.error().instruction(), 1u);
  for (std::string_view piece : {"residual_rms_norm", "register 2", "[", "never read"})
    EXPECT_NE(strict.error().text().find(piece), std::string_view::npos) << strict.error().text();

  const auto list = plan::findings(p.plan, *catalog_ops().table);
  ASSERT_TRUE(list);
  ASSERT_EQ(list->size(), 1u);
  const Finding& f = (*list)[0];
  EXPECT_EQ(f.severity, Severity::warning);
  EXPECT_EQ(f.error.phase(), Phase::plan);
  EXPECT_EQ(f.error.instruction(), 1u);
  EXPECT_EQ(f.error.opcode(), number(ops::ResidualRmsNorm::opcode));
  EXPECT_EQ(f.error.tensor(), 2u);
  EXPECT_EQ(f.type, p.plan.registers[2]);
}

TEST(Validate, EveryRemarkOfTheCompilerHasAMessage) {
  plan::CompiledPlan p = sample();
  ASSERT_EQ(p.diagnostics.size(), 1u);
  ASSERT_TRUE(p.diagnostics.push_back({Severity::info, plan::DiagnosticKind::expanded, ops::Linear::opcode, 5, 3, {}}));
  ASSERT_TRUE(p.diagnostics.push_back({Severity::info, plan::DiagnosticKind::rounding, ops::Linear::opcode, 0, 0, {}}));
  const std::array<std::string_view, 3> texts{"residual_rms_norm: register 2 [1*s1, 8] is never read",
                                              "linear: the backend runs 3 others in its place",
                                              "linear: activations are rounded as the weight's type has it"};
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Finding f = plan::finding(p.diagnostics[i], p.plan, *catalog_ops().table);
    EXPECT_EQ(f.error.text(), texts[i]);
    EXPECT_EQ(f.severity, p.diagnostics[i].level);
    EXPECT_EQ(f.error.phase(), Phase::plan);
    EXPECT_EQ(f.error.instruction(), p.diagnostics[i].instruction);
  }
}

TEST(Validate, NoneLooksAtNothingAndCompileHonoursTheLevel) {
  plan::CompiledPlan p = sample();
  p.plan.instructions[0].opcode = Opcode{250};
  EXPECT_FALSE(plan::validate(p.plan, *catalog_ops().table, Validation::normal));
  EXPECT_TRUE(plan::validate(p.plan, *catalog_ops().table, Validation::none));

  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {4, 8}});
  g.output("y", g.emit<ops::ResidualRmsNorm>({.in = {x, x}, .params = {.norm = {.dim = 8}}})[1]);
  const auto graph = g.finish();
  EXPECT_TRUE(plan::compile(*graph, catalog_ops(), reference_claims(), {.validation = Validation::normal}));
  EXPECT_FALSE(plan::compile(*graph, catalog_ops(), reference_claims(), {.validation = Validation::strict}));
}

struct Hostile {
  std::string_view name;
  std::function<void(plan::ExecutionPlan&)> harm;
  Errc code;
  std::string_view text;
  std::uint32_t instruction = Error::kNoIndex;
};

TEST(Validate, HostilePlansAreRefused) {
  using P = plan::ExecutionPlan&;
  constexpr std::uint32_t kNoInsn = Error::kNoIndex;
  const std::vector<Hostile> cases{
      {"opcode", [](P p) { p.instructions[1].opcode = Opcode{200}; }, Errc::unsupported_opcode, "opcode 200", 1},
      {"inputs", [](P p) { p.instructions[1].inputs = 255; }, Errc::invalid_plan, "number of operands", 1},
      {"outputs", [](P p) { p.instructions[1].outputs = 1; }, Errc::invalid_plan, "number of operands", 1},
      {"weights", [](P p) { p.instructions[0].weights = 64; }, Errc::invalid_plan, "number of operands", 0},
      {"register pool", [](P p) { p.instructions[1].first_register = 0xfffffff0u; }, Errc::invalid_plan, "outside", 1},
      {"weight pool", [](P p) { p.instructions[0].first_weight = 2; }, Errc::invalid_plan, "outside", 0},
      {"param id", [](P p) { p.instructions[1].param_block_id = 77; }, Errc::invalid_plan, "parameter block", 1},
      {"no params", [](P p) { p.instructions[1].param_block_id = 0xffff; }, Errc::invalid_plan, "parameter block", 1},
      {"param range", [](P p) { p.params[1].offset = 0xffffffffu; }, Errc::invalid_plan, "outside", 1},
      {"param size", [](P p) { p.params[0].bytes = 3; }, Errc::invalid_param_block_abi, "3 bytes", 0},
      {"param version", [](P p) { p.params[0].version = 8; }, Errc::invalid_param_block_abi, "version 8", 0},
      {"param opcode", [](P p) { p.params[0].opcode = Opcode{0}; }, Errc::invalid_param_block_abi, "opcode 0", 0},
      {"state id", [](P p) { p.instructions[2].state_block_id = 5; }, Errc::invalid_state, "lifecycle", 2},
      {"no state", [](P p) { p.instructions[2].state_block_id = 0xff; }, Errc::invalid_state, "lifecycle", 2},
      {"state of a pure op", [](P p) { p.instructions[0].state_block_id = 0; }, Errc::invalid_state, "no state", 0},
      {"state size", [](P p) { p.states[0].size_bytes = 1; }, Errc::invalid_state, "its dims give", kNoInsn},
      {"state class", [](P p) { p.states[0].lifecycle = p.states[0].info.lifecycle = static_cast<StateLifecycle>(7); },
       Errc::invalid_state, "state 0", kNoInsn},
      {"state dtype", [](P p) { p.states[0].info.dtype = static_cast<DType>(99); }, Errc::invalid_state, "state 0",
       kNoInsn},
      {"state extents", [](P p) { p.states[0].info.extents = {0xffffffffu, 0xffffffffu, 0xffffffffu, 0}; },
       Errc::invalid_state, "state 0", kNoInsn},
      {"state number", [](P p) { p.states[0].id = 3; }, Errc::invalid_state, "state 0", kNoInsn},
      {"read first", [](P p) { p.register_refs[p.instructions[0].first_register] = plan::RegisterRef{3}; },
       Errc::dangling_value, "before it is written", 0},
      {"read none", [](P p) { p.register_refs[p.instructions[0].first_register] = plan::kNoRegister; },
       Errc::dangling_value, "names no register", 0},
      {"read out of range", [](P p) { p.register_refs[p.instructions[0].first_register] = plan::RegisterRef{900}; },
       Errc::dangling_value, "names no register", 0},
      {"write none", [](P p) { p.register_refs[p.instructions[0].first_register + 1u] = plan::kNoRegister; },
       Errc::dangling_value, "output names no register", 0},
      {"write twice", [](P p) { p.register_refs[p.instructions[1].first_register + 2u] = plan::RegisterRef{1}; },
       Errc::overlapping_writers, "another producer", 1},
      {"write the input", [](P p) { p.register_refs[p.instructions[0].first_register + 1u] = plan::RegisterRef{0}; },
       Errc::overlapping_writers, "register 0", 0},
      {"weight id", [](P p) { p.weight_refs[0] = plan::WeightRef{9}; }, Errc::missing_weight, "weight id", 0},
      {"no weight", [](P p) { p.weight_refs[0] = plan::kNoWeight; }, Errc::missing_weight, "not bound", 0},
      {"weight dtype", [](P p) { p.weights[0].dtype = static_cast<DType>(31); }, Errc::invalid_plan, "unknown type",
       kNoInsn},
      {"weight rank", [](P p) { p.weights[0].shape.rank = 200; }, Errc::invalid_plan, "rank", kNoInsn},
      {"weight symbol", [](P p) { p.weights[0].shape.dims[0].symbol = 255; }, Errc::invalid_plan, "symbol", kNoInsn},
      {"weight blocks",
       [](P p) {
         p.weights[0].dtype = DType::q8_0;
         p.weights[0].shape = {8, 31};
       },
       Errc::invalid_plan, "whole blocks", kNoInsn},
      {"weight data", [](P p) { p.weights[0].data_offset = ~std::uint64_t{0} - 8; }, Errc::invalid_plan,
       "size of its shape", kNoInsn},
      {"weight of 2^64 bytes more",
       [](P p) {
         p.weights[0].shape = {46464, 2029193, 48912491};  // 2^62 + 128 elements
         p.weights[0].data_bytes = 512;
       },
       Errc::invalid_plan, "size of its shape", kNoInsn},
      {"weight bytes", [](P p) { p.weights[0].data_bytes = 4; }, Errc::invalid_plan, "size of its shape", kNoInsn},
      {"weight shape", [](P p) { p.weights[0].shape = {4, 64}; }, Errc::shape_mismatch, "linear: weight", 0},
      {"register dtype", [](P p) { p.registers[1].dtype = DType::f16; }, Errc::dtype_mismatch,
       "register 1 is recorded as f16", 0},
      {"register unknown", [](P p) { p.registers[1].dtype = static_cast<DType>(66); }, Errc::invalid_plan, "register 1",
       kNoInsn},
      {"register shape", [](P p) { p.registers[1].shape.dims[1] = 9; }, Errc::shape_mismatch, "the op gives [", 0},
      {"register rank", [](P p) { p.registers[1].shape.rank = 9; }, Errc::invalid_plan, "register 1", kNoInsn},
      {"register symbol", [](P p) { p.registers[0].shape.dims[0].symbol = 2; }, Errc::invalid_plan, "symbol", kNoInsn},
      {"input port", [](P p) { p.inputs[0].reg = plan::RegisterRef{40}; }, Errc::invalid_plan, "input x", kNoInsn},
      {"output port", [](P p) { p.outputs[0].reg = plan::kNoRegister; }, Errc::invalid_plan, "output y", kNoInsn},
      {"input twice", [](P p) { (void)p.inputs.push_back(p.inputs[0]); }, Errc::overlapping_writers, "input x",
       kNoInsn},
      {"output unwritten",
       [](P p) {
         (void)p.registers.push_back({});
         p.outputs[0].reg = plan::RegisterRef{4};
       },
       Errc::dangling_value, "output y", kNoInsn},
      {"symbols",
       [](P p) {
         for (int i = 0; i < 20; ++i) (void)p.symbols.push_back({});
       },
       Errc::invalid_plan, "symbols", kNoInsn},
      {"port layout", [](P p) { p.outputs[0].layout = Layout::strided; }, Errc::invalid_plan, "port y is strided",
       kNoInsn},
  };
  for (const Hostile& hostile : cases) {
    plan::CompiledPlan p = sample();
    hostile.harm(p.plan);
    const auto r = plan::validate(p.plan, *catalog_ops().table, Validation::normal);
    ASSERT_FALSE(r) << hostile.name;
    EXPECT_EQ(name(r.error().code()), name(hostile.code)) << hostile.name << ": " << r.error().text();
    EXPECT_NE(r.error().text().find(hostile.text), std::string_view::npos) << hostile.name << ": " << r.error().text();
    EXPECT_EQ(r.error().instruction(), hostile.instruction) << hostile.name << ": " << r.error().text();
    EXPECT_EQ(r.error().phase(), Phase::plan) << hostile.name;
  }
}

TEST(Validate, RankLimitOfFusedOps) {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {2, 2, 2, 8}});
  g.output("y", g.emit<ops::ResidualAdd>({.in = {x, x}})[0]);
  auto p = plan::compile(*g.finish(), catalog_ops(), reference_claims());
  ASSERT_TRUE(p) << "four axes are within the limit";
  for (TensorType& type : p->plan.registers) type.shape = {2, 2, 2, 2, 8};
  const auto r = plan::validate(p->plan, *catalog_ops().table, Validation::normal);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::unsupported_tensor_rank);
  EXPECT_NE(r.error().text().find("residual_add: register 1 has 5 axes, at most 4"), std::string_view::npos);
}

}  // namespace
}  // namespace validate_test
