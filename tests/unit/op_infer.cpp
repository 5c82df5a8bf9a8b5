// SPDX-License-Identifier: Apache-2.0
// tests/unit/op_infer.cpp: every shape rule accepts its op's cases and refuses them with one operand changed.
#include <boost/mp11/algorithm.hpp>
#include <gtest/gtest.h>

#include <property/op_cases/all.hpp>
#include <string>
#include <support/run_plan.hpp>

namespace op_infer_test {
namespace {

using namespace op_cases;
using zrt::Errc;
using zrt::InputInfo;
using zrt::WeightInfo;
namespace mp = boost::mp11;

/// The operands of a case as the shape rule sees them.
struct Operands {
  explicit Operands(const Case& c) : from(&c), in(c.in.size()), w(c.w.size()), state(c.state), params(c.params) {
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = {c.in[i].present, c.in[i].type};
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = {c.w[i].present, c.w[i].dtype, c.w[i].shape};
    auto types = [](const zrt::ir::Graph& graph, const zrt::Vector<zrt::ir::Port>& ports) {
      std::vector<zrt::TensorType> list;
      for (const zrt::ir::Port& port : ports) list.push_back(graph.values[port.value.index].type);
      return list;
    };
    for (const zrt::ir::Graph& graph : region_graphs(c, *zrt::test::catalog_ops().table, {}))
      borders.push_back({types(graph, graph.inputs), types(graph, graph.outputs)});
  }
  zrt::Result<std::uint32_t> infer() {
    out.assign(zrt::kMaxOperands, {});
    std::vector<zrt::RegionInfo> regions;
    for (const Border& border : borders) regions.push_back({border.params, border.results});
    return from->row->infer({in, w, state, {from->row->params_version, from->row->opcode, params}, regions}, out);
  }

  struct Border {
    std::vector<zrt::TensorType> params, results;
  };

  const Case* from;
  std::vector<Border> borders;
  std::vector<InputInfo> in;
  std::vector<WeightInfo> w;
  zrt::StateInfo state;
  std::vector<std::byte> params;
  std::vector<zrt::TensorType> out;
};

/// 7919 is a prime that no case uses.
void change(Mutation::Kind kind, bool& present, DType& dtype, Shape& shape) {
  switch (kind) {
    case Mutation::dtype:
      dtype = dtype == DType::f64 ? DType::si8 : DType::f64;
      break;
    case Mutation::no_axes:
      shape.rank = 0;
      break;
    case Mutation::more_axes:
      shape = shape.appended(Dim{7919});
      break;
    case Mutation::missing:
      present = false;
      break;
  }
}

template <class O> bool allows(const Mutation& m) {
  if constexpr (requires { OpCases<O>::allows(m); })
    return OpCases<O>::allows(m);
  else
    return false;
}

template <class O> class OpInfer : public testing::Test {};
struct OpName {
  template <class O> static std::string GetName(int) { return std::string(O::name); }
};
using Types = mp::mp_rename<op_cases::CatalogWithCases, testing::Types>;
TYPED_TEST_SUITE(OpInfer, Types, OpName);

TYPED_TEST(OpInfer, RefusesAChangedOperand) {
  using O = TypeParam;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    Random r(seed);
    const Batch b = Batch::draw(r);
    const Case c = draw<O>(r, b);
    Operands right(c);
    const auto accepted = right.infer();
    ASSERT_TRUE(accepted) << "case " << seed << ": " << accepted.error().text();
    auto attempt = [&](bool weight, std::size_t index, Mutation::Kind kind) {
      const zrt::Role& role = weight ? O::weight_roles[index] : c.row->input(index);
      Operands changed(c);
      if (weight) {
        WeightInfo& w = changed.w[index];
        if (!w.bound || (kind == Mutation::no_axes && w.shape.rank == 0)) return;
        change(kind, w.bound, w.dtype, w.shape);
      } else {
        InputInfo& in = changed.in[index];
        if (!in.bound || (kind == Mutation::no_axes && in.type.shape.rank == 0)) return;
        change(kind, in.bound, in.type.dtype, in.type.shape);
      }
      const bool fine = (kind == Mutation::missing && role.optional) || allows<O>({kind, weight, index});
      const auto result = changed.infer();
      EXPECT_TRUE(!result || fine) << "case " << seed << ": " << O::name << " accepts "
                                   << (weight ? "weight " : "input ") << role.name << " with change " << int{kind};
      if (!result) {
        EXPECT_NE(result.error().code(), Errc::ok);
        EXPECT_FALSE(result.error().text().empty());
      }
    };
    for (Mutation::Kind kind : {Mutation::dtype, Mutation::no_axes, Mutation::more_axes, Mutation::missing}) {
      for (std::size_t i = 0; i < c.in.size(); ++i) attempt(false, i, kind);
      if constexpr (zrt::kWeights<O> > 0)
        for (std::size_t i = 0; i < zrt::kWeights<O>; ++i) attempt(true, i, kind);
    }
  }
}

TYPED_TEST(OpInfer, RefusesAStrangeState) {
  using O = TypeParam;
  if constexpr (O::lifecycle != zrt::StateLifecycle::none) {
    Random r(1);
    const Batch b = Batch::draw(r);
    const Case c = draw<O>(r, b);
    auto code = [&](auto edit) {
      Operands changed(c);
      edit(changed.state);
      const auto result = changed.infer();
      return result ? Errc::ok : result.error().code();
    };
    EXPECT_EQ(code([](zrt::StateInfo&) {}), Errc::ok);
    EXPECT_EQ(code([](zrt::StateInfo& s) { s = {}; }), Errc::invalid_state);
    constexpr auto other =
        O::lifecycle == zrt::StateLifecycle::recurrent ? zrt::StateLifecycle::kv_paged : zrt::StateLifecycle::recurrent;
    EXPECT_EQ(code([](zrt::StateInfo& s) { s.lifecycle = other; }), Errc::invalid_state);
    EXPECT_EQ(code([](zrt::StateInfo& s) { s.dtype = DType::q4_k; }), Errc::invalid_state);
    for (std::size_t axis = 0; axis < 3; ++axis)
      EXPECT_EQ(code([&](zrt::StateInfo& s) { ++s.extents[axis]; }), Errc::invalid_state);
  }
}

/// A plan file may hold any parameters: a rule answers, and never with a result that its operands lack.
TYPED_TEST(OpInfer, AnswersToAnyParameters) {
  using O = TypeParam;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    Random r(seed);
    const Batch b = Batch::draw(r);
    const Case c = draw<O>(r, b);
    Operands changed(c);
    if (changed.params.empty()) break;
    for (std::uint32_t n = r.between(1, 4); n > 0; --n) {
      const std::uint32_t at = r.between(0, static_cast<std::uint32_t>(changed.params.size()) - 1);
      changed.params[at] = static_cast<std::byte>(r.one_of({0u, 1u, 127u, 128u, 255u, r.between(0, 255)}));
    }
    if (const auto result = changed.infer(); result) {
      for (const zrt::TensorType& type : changed.out) EXPECT_LE(type.shape.rank, zrt::kMaxRank);
    } else {
      EXPECT_NE(result.error().code(), Errc::ok);
    }
  }
}

TYPED_TEST(OpInfer, RefusesAnotherParameterAbi) {
  using O = TypeParam;
  Random r(1);
  const Batch b = Batch::draw(r);
  const Case c = draw<O>(r, b);
  Operands changed(c);
  changed.params.push_back(std::byte{0});
  const auto result = changed.infer();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Errc::invalid_param_block_abi);
}

}  // namespace
}  // namespace op_infer_test
