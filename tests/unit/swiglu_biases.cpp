// SPDX-License-Identifier: Apache-2.0
// tests/unit/swiglu_biases.cpp: gated blocks with biases, on every rung of the ladder, against answers in f64.
#include <zrt/ops/swiglu.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <fstream>
#include <support/run_plan.hpp>

namespace swiglu_biases_test {
namespace {

using namespace zrt;
using nlohmann::json;
using ops::Swiglu;

constexpr std::uint32_t kTokens = 3, kWidth = 8, kInner = 6;

test::Bytes bytes_of(const json& numbers) {
  test::Bytes bytes;
  for (const float x : numbers.get<std::vector<float>>()) {
    const auto* from = reinterpret_cast<const std::byte*>(&x);
    bytes.insert(bytes.end(), from, from + sizeof x);
  }
  return bytes;
}

Shape shape_of(std::size_t role) {
  switch (role) {
    case Swiglu::gate:
    case Swiglu::up:
      return {kInner, kWidth};
    case Swiglu::down:
      return {kWidth, kInner};
    case Swiglu::gate_bias:
    case Swiglu::up_bias:
      return {kInner};
    default:
      return {kWidth};
  }
}

Result<std::vector<test::Bytes>> run(const json& c, const OpSet& claims) {
  test::Weights weights;
  for (std::size_t role = 0; role < kWeights<Swiglu>; ++role)
    if (const std::string name(Swiglu::weight_roles[role].name); c["weights"].contains(name))
      weights.add(name, DType::f32, shape_of(role), bytes_of(c["weights"][name]));
  ir::Builder g(*test::catalog_ops().table, system_allocator(), weights.lookup());
  const auto x = g.input("x", {DType::f32, {kTokens, kWidth}});
  Call<ir::Builder, Swiglu> call{.in = {x}};
  for (std::size_t role = 0; role < kWeights<Swiglu>; ++role)
    call.w[role] = g.optional_weight(Name::of(Swiglu::weight_roles[role].name), shape_of(role));
  g.output("y", g.emit<Swiglu>(call)[0]);
  auto graph = g.finish();
  if (!graph) return pass(graph);
  auto compiled = plan::compile(*graph, test::catalog_ops(), claims);
  if (!compiled) return pass(compiled);
  test::StepData step;
  step.inputs = {bytes_of(c["x"])};
  return test::run_planned(*compiled, weights.source(), step);
}

TEST(SwigluBiases, AreAddedOnEveryRung) {
  std::ifstream stream(ZRT_TEST_DATA_DIR "/ops/swiglu_biases.json");
  const json cases = json::parse(stream);
  ASSERT_EQ(cases.size(), 24u);
  OpSet primitives;
  for (unsigned n = 64; n < 103; ++n) primitives.insert(Opcode{static_cast<std::uint8_t>(n)});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const OpSet& claims : {test::reference_claims(), primitives}) {
      SCOPED_TRACE(testing::Message() << "case " << i << (&claims == &primitives ? " of primitives" : ""));
      const auto got = run(cases[i], claims);
      ASSERT_TRUE(got) << got.error().text();
      const auto expected = cases[i]["y"].get<std::vector<double>>();
      ASSERT_EQ((*got)[0].size(), expected.size() * sizeof(float));
      for (std::size_t k = 0; k < expected.size(); ++k) {
        float y = 0.0f;
        std::memcpy(&y, (*got)[0].data() + k * sizeof y, sizeof y);
        ASSERT_NEAR(static_cast<double>(y), expected[k], 2e-5 * (1.0 + std::abs(expected[k]))) << "element " << k;
      }
    }
  }
}

}  // namespace
}  // namespace swiglu_biases_test
