// SPDX-License-Identifier: Apache-2.0
// tests/unit/operands.cpp: the adapter contract: a wrong dtype, shape, layout or state is a typed error at bind.
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <support/random_graph.hpp>
#include <support/toy_backend.hpp>
#include <vector>

namespace operands_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using Handle = exec::TensorHandle<toy::Backend>;
using StateHandle = exec::StateBlockHandle<toy::Backend>;

TEST(Views, ContiguousRowsAtTheBounds) {
  const Extents bounds = extents(8, 3);
  const auto view = contiguous_view({DType::f16, {Dim(2, 1), 5, Dim(1, 2)}}, bounds);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->rank, 3u);
  EXPECT_EQ(view->layout, Layout::contiguous);
  EXPECT_EQ(view->shape, (std::array<std::uint32_t, kMaxRank>{16, 5, 3}));
  EXPECT_EQ(view->stride_elems, (std::array<std::uint32_t, kMaxRank>{15, 3, 1}));
  EXPECT_EQ(view->symbol, (std::array<SymbolId, kMaxRank>{1, 0, 2}));
  EXPECT_EQ(view->bytes().raw(), 16u * 5u * 3u * 2u);
  EXPECT_EQ(contiguous_view({DType::q8_0, {2, 64}}, {})->bytes().raw(), 4u * 34u);
  EXPECT_EQ(contiguous_view({DType::f32, {}}, {})->bytes().raw(), 4u) << "one element";
  EXPECT_EQ(contiguous_view({DType::f32, {3, 0, 2}}, {})->bytes().raw(), 0u);
  TensorViewDesc strided = *view;
  strided.layout = Layout::strided;
  strided.stride_elems[0] = 100;
  EXPECT_EQ(strided.bytes().raw(), (15u * 100u + 4u * 3u + 2u + 1u) * 2u);
}

TEST(Views, WhatDoesNotFitIsAnError) {
  EXPECT_EQ(contiguous_view({DType::f32, {Dim(2, 1)}}, extents(0x80000000u, 1)).error().code(), Errc::size_overflow);
  EXPECT_EQ(contiguous_view({DType::f32, {2, 0x10000u, 0x10000u}}, {}).error().code(), Errc::size_overflow);
  TensorType type{DType::f32, {1}};
  type.shape.rank = kMaxRank + 1;
  EXPECT_EQ(contiguous_view(type, {}).error().code(), Errc::unsupported_tensor_rank);
}

/// y = -x, whose rows go into a state as keys and values.
plan::CompiledPlan stateful_plan() {
  ir::Builder g(*catalog_ops().table);
  const auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 4)), 8}});
  const auto y = g.emit<ops::ElementwiseUnary>({.in = {x}})[0];
  const auto state = g.state({StateLifecycle::kv_paged, DType::f32, 0, 0, {1, 8, 8, 0}});
  (void)g.emit<ops::KvWriteBatched>({.in = {y, y}, .state = state, .params = {1, 8, 8}});
  g.output("y", y);
  auto compiled = plan::compile(*g.finish(), catalog_ops(), OpSet::of(toy::Backend::Claims{}));
  EXPECT_TRUE(compiled) << compiled.error().text();
  return compiled ? std::move(*compiled) : plan::CompiledPlan();
}

/// What is handed to the adapter of one instruction, as bind makes it, for a test to spoil.
struct Handed {
  std::vector<Handle> in;
  std::vector<Handle> out;
  StateHandle state;
};

TEST(AdapterContract, MismatchesAreTypedErrors) {
  const plan::CompiledPlan p = stateful_plan();
  const Extents bounds = extents(4, 1);
  const std::uint64_t page = p.plan.states[0].size_bytes;
  auto check = [&](std::size_t i, const std::function<void(Handed&)>& spoil) {
    const plan::Instruction insn = p.plan.instruction(i);
    Handed handed;
    for (plan::RegisterRef r : insn.inputs)
      handed.in.push_back({r, {}, *contiguous_view(p.plan.registers[plan::index(r)], bounds)});
    for (plan::RegisterRef r : insn.outputs)
      handed.out.push_back({r, {}, *contiguous_view(p.plan.registers[plan::index(r)], bounds)});
    handed.state = {0, {}, 3 * page, 64};
    spoil(handed);
    exec::BoundOperands<toy::Backend> operands{handed.in, handed.out, {}, nullptr, {}};
    if (insn.state_block_id) operands.state = &handed.state;
    return exec::check_operands<toy::Backend>(p.plan, insn, *catalog_ops().table->at(number(insn.opcode)), operands,
                                              bounds);
  };
  ASSERT_TRUE(check(0, [](Handed&) {}));
  ASSERT_TRUE(check(1, [](Handed&) {}));

  struct Spoiled {
    std::size_t instruction;
    std::function<void(Handed&)> spoil;
    Errc code;
    std::string_view text;
  };
  const std::vector<Spoiled> cases{
      {0, [](Handed& h) { h.in[0].view.dtype = DType::f16; }, Errc::dtype_mismatch, "register 0 is f16, expected f32"},
      {0, [](Handed& h) { h.out[0].view.dtype = DType::si32; }, Errc::dtype_mismatch, "register 1 is si32"},
      {0, [](Handed& h) { h.out[0].view.rank = 3; }, Errc::unsupported_tensor_rank, "has 3 axes, expected 2"},
      {0, [](Handed& h) { h.out[0].view.shape[1] = 9; }, Errc::shape_mismatch, "9 elements on axis 1"},
      {0, [](Handed& h) { h.out[0].view.shape[0] = 5; }, Errc::shape_mismatch, "5 elements on axis 0"},
      {0, [](Handed& h) { h.out[0].view.symbol[0] = 0; }, Errc::shape_mismatch, "axis 0"},
      {0, [](Handed& h) { h.in[0].view.stride_elems[0] = 16; }, Errc::shape_mismatch, "16 apart, expected 4 and 8"},
      {0, [](Handed& h) { h.in[0].view.layout = Layout::strided; }, Errc::shape_mismatch,
       "strided, expected contiguous"},
      {0, [](Handed& h) { h.out[0].view.layout = Layout::backend_native; }, Errc::shape_mismatch, "backend_native"},
      {1, [](Handed& h) { h.in[1].view.dtype = DType::bf16; }, Errc::dtype_mismatch, "register 1 is bf16"},
      {1, [](Handed& h) { h.state.id = 4; }, Errc::invalid_state, "state 4 was handed over, expected 0"},
      {1, [](Handed& h) { h.state.align_bytes = 32; }, Errc::invalid_state, "aligned to 32 bytes, expected 64"},
      {1, [](Handed& h) { h.state.size += 4; }, Errc::invalid_state, "expected units of 1024"},
  };
  for (const Spoiled& c : cases) {
    const auto r = check(c.instruction, c.spoil);
    ASSERT_FALSE(r) << c.text;
    EXPECT_EQ(name(r.error().code()), name(c.code)) << r.error().text();
    EXPECT_NE(r.error().text().find(c.text), std::string_view::npos) << r.error().text();
  }
}

/// Binds `p` with the states of `other`.
Result<void> bind_with(const plan::CompiledPlan& p, const plan::CompiledPlan& other, const Extents& bounds) {
  toy::Device device;
  auto weights = exec::bind_weights<toy::Backend>(p.plan, {}, device);
  auto states = exec::StateStore<toy::Backend>::make(other.plan, device, 3, 1);
  if (!states) return pass(states);
  auto bound = exec::bind<toy::Backend>(p, *catalog_ops().table, *weights, *states, {bounds, 1}, device);
  if (!bound) return pass(bound);
  for (std::size_t i = 0; i < p.plan.registers.size(); ++i) {
    const plan::RegisterRef reg{static_cast<std::uint16_t>(i)};
    EXPECT_EQ(bound->handle(reg).reg, reg);
    EXPECT_EQ(bound->handle(reg).view, *contiguous_view(p.plan.registers[i], bounds));
    EXPECT_LE(bound->handle(reg).view.bytes().raw(), bound->mapping().of(reg).size);
    EXPECT_TRUE(bound->handle(reg).tensor.present());
  }
  return {};
}

TEST(AdapterContract, StatesOfAnotherPlanAreRefused) {
  const plan::CompiledPlan p = stateful_plan();
  ASSERT_TRUE(bind_with(p, p, extents(4, 1)));
  using D = StateDescriptor&;
  for (const auto& harm : std::initializer_list<std::function<void(D)>>{
           [](D d) { d.lifecycle = StateLifecycle::recurrent; }, [](D d) { d.info.dtype = DType::f16; },
           [](D d) { d.size_bytes *= 2; }, [](D d) { d.info.group = 1; }, [](D d) { d.align_bytes = 16; }}) {
    plan::CompiledPlan other = stateful_plan();
    harm(other.plan.states[0]);
    const auto r = bind_with(p, other, extents(4, 1));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::invalid_state) << r.error().text();
    EXPECT_NE(r.error().text().find("state 0"), std::string_view::npos) << r.error().text();
  }
  for (const std::uint16_t align : {std::uint16_t{0}, std::uint16_t{24}, std::uint16_t{128}}) {
    plan::CompiledPlan other = stateful_plan();
    other.plan.states[0].align_bytes = align;
    const auto r = bind_with(other, other, extents(4, 1));
    ASSERT_FALSE(r) << align;
    EXPECT_EQ(r.error().code(), Errc::invalid_state);
    EXPECT_NE(r.error().text().find("a power of two up to 64"), std::string_view::npos) << r.error().text();
  }
}

TEST(AdapterContract, AnOpGetsItsStateAndNoOtherDoes) {
  for (const Validation level : {Validation::normal, Validation::none}) {
    plan::CompiledPlan p = stateful_plan();
    p.validation = level;
    p.plan.instructions[1].state_block_id = plan::InstructionRecord::kNoState;
    EXPECT_EQ(bind_with(p, p, extents(4, 1)).error().code(), Errc::invalid_state);
    p.plan.instructions[1].state_block_id = 7;
    EXPECT_EQ(bind_with(p, p, extents(4, 1)).error().code(), Errc::invalid_state);
    p.plan.instructions[1].state_block_id = 0;
    EXPECT_TRUE(bind_with(p, p, extents(4, 1)));
    p.plan.instructions[0].state_block_id = 0;
    EXPECT_EQ(bind_with(p, p, extents(4, 1)).error().code(), Errc::invalid_state);
  }
}

TEST(AdapterContract, APlanThatWasChangedAfterItWasCompiledIsRefused) {
  plan::CompiledPlan p = stateful_plan();
  p.plan.registers[1].dtype = DType::f16;
  auto r = bind_with(p, p, extents(4, 1));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::dtype_mismatch);
  EXPECT_EQ(r.error().instruction(), 0u);
  p = stateful_plan();
  p.plan.registers[1].shape = {Dim(1, 1), 16};
  r = bind_with(p, p, extents(4, 1));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), Errc::shape_mismatch);
  EXPECT_EQ(r.error().instruction(), 0u);
}

}  // namespace
}  // namespace operands_test
