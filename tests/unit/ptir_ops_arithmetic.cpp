// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_ops_arithmetic.cpp: the arithmetic ops against vectors from exact arithmetic.
// test-set: smoke
#include <zrt/core/cast.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <map>
#include <support/run_plan.hpp>

namespace ptir_ops_arithmetic_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using nlohmann::json;

constexpr SymbolId kSymbol = 1;
constexpr std::uint32_t kBound = 5;

DType dtype_named(const std::string& name) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  ADD_FAILURE() << "no type " << name;
  return DType::f32;
}

Shape shape_of(const json& extents) {
  Shape shape;
  for (const int extent : extents)
    shape = shape.appended(extent < 0 ? Dim(static_cast<std::uint32_t>(-extent), kSymbol)
                                      : Dim(static_cast<std::uint32_t>(extent)));
  return shape;
}

Bytes bytes_from(const std::string& hex) {
  Bytes bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

const OpRow* op_named(const std::string& name) {
  for (const OpRow* row : *catalog_ops().table)
    if (row != nullptr && row->name == name) return row;
  ADD_FAILURE() << "no op " << name;
  return nullptr;
}

/// The graph of one op with its operands at the border, or the error of its shape rule.
Result<ir::Graph> graph_of(const json& c) {
  const OpRow* row = op_named(c["op"]);
  ir::Builder g(*catalog_ops().table);
  (void)g.symbol("n", kBound);
  std::vector<ir::ValueId> in, out(kMaxOperands);
  for (const json& tensor : c["in"])
    in.push_back(
        g.input(Name::of("in", static_cast<unsigned>(in.size())), {dtype_named(tensor[0]), shape_of(tensor[1])}));
  if (!row->repeats_inputs) in.resize(row->inputs.size());  // what is left out is absent
  const Bytes block = bytes_from(c["block"]);
  out.resize(g.append(row->opcode, in, {}, {}, {row->params_version, row->opcode, block}, out));
  for (std::size_t i = 0; i < out.size(); ++i) g.output(Name::of("out", static_cast<unsigned>(i)), out[i]);
  return g.finish();
}

/// Codes of a float type in the order of its numbers, both zeros 0; steps of it are units in the last place.
std::int64_t place_of(DType dtype, const std::byte* data, std::uint64_t i) {
  const std::size_t bytes = info(dtype).block_bytes;
  std::uint64_t code = 0;
  std::memcpy(&code, data + i * bytes, bytes);
  const std::uint64_t sign = std::uint64_t{1} << (8 * bytes - 1);
  const auto magnitude = static_cast<std::int64_t>(code & (sign - 1));
  return (code & sign) != 0 ? -magnitude : magnitude;
}

double number_at(DType dtype, const std::byte* data, std::uint64_t i) {
  double x = 0;
  const std::size_t bytes = info(dtype).block_bytes;
  cast_elements(dtype, data + i * bytes, DType::f64, reinterpret_cast<std::byte*>(&x), 0, 1);
  return x;
}

/// Where the first element lies that is further off than the case allows, or the number of elements.
std::uint64_t first_difference(const json& c, const TensorType& type, std::uint64_t elements, Bytes got,
                               const Bytes& expected) {
  if (got.size() != expected.size()) return 0;
  // The other half of the last byte belongs to no element.
  if (info(type.dtype).block_elems == 2 && elements % 2 != 0) got.back() &= std::byte{0x0f};
  if (!is_float(type.dtype)) return got == expected ? elements : 0;
  const std::int64_t ulps = c.value("ulps", 0);
  const double absolute = c.value("absolute", 0.0);
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double a = number_at(type.dtype, got.data(), i);
    const double e = number_at(type.dtype, expected.data(), i);
    if (std::isnan(a) && std::isnan(e)) continue;
    if (std::isnan(a) || std::isnan(e)) return i;
    const std::int64_t apart = place_of(type.dtype, got.data(), i) - place_of(type.dtype, expected.data(), i);
    if (std::signbit(a) == std::signbit(e) && apart == 0) continue;
    if (ulps != 0 && std::abs(apart) <= ulps) continue;
    if (absolute != 0 && std::abs(a - e) <= absolute) continue;
    return i;
  }
  return elements;
}

const json& cases() {
  static const json all = [] {
    std::ifstream file(ZRT_TEST_DATA_DIR "/ptir/arithmetic.json");
    return json::parse(file);
  }();
  return all;
}

TEST(PtirArithmetic, EveryOpGivesWhatExactArithmeticGives) {
  std::map<std::string, int> computed;
  for (const json& c : cases()) {
    if (c.contains("error")) continue;
    SCOPED_TRACE(c.dump().substr(0, 300));
    const auto graph = graph_of(c);
    ASSERT_TRUE(graph) << graph.error().text();
    const auto plan = plan::compile(*graph, catalog_ops(), reference_claims());
    ASSERT_TRUE(plan) << plan.error().text();
    StepData step;
    step.bounds.value[kSymbol] = kBound;
    step.actual.value[kSymbol] = c.value("n", 3u);
    for (const json& tensor : c["in"]) step.inputs.push_back(bytes_from(tensor[2]));
    const bool violates = c.value("violates", false);
    auto out = run_planned(*plan, Weights().source(), step);
    if (violates) {
      ASSERT_FALSE(out);
      EXPECT_EQ(out.error().code(), Errc::spec_violation);
      // Apart from the status, each result is what the op says of it.
      out = run_apart(*plan, Weights().source(), step);
    }
    ASSERT_TRUE(out) << out.error().text();
    ASSERT_EQ(out->size(), c["out"].size());
    for (std::size_t i = 0; i < out->size(); ++i) {
      const json& expected = c["out"][i];
      const TensorType type = plan->plan.registers[plan::index(plan->plan.outputs[i].reg)];
      EXPECT_EQ(type, (TensorType{dtype_named(expected[0]), shape_of(expected[1])}));
      const std::uint64_t elements = type.shape.elements(step.actual).raw();
      const Bytes wanted = bytes_from(expected[2]);
      const std::uint64_t at = first_difference(c, type, elements, (*out)[i], wanted);
      EXPECT_EQ(at, elements) << "element " << at
                              << (is_float(type.dtype) && at < elements && (*out)[i].size() == wanted.size()
                                      ? ": " + std::to_string(number_at(type.dtype, (*out)[i].data(), at)) +
                                            ", expected " + std::to_string(number_at(type.dtype, wanted.data(), at))
                                      : "");
    }
    ++computed[c["op"]];
  }
  for (const char* op : {"elementwise_unary", "elementwise_binary", "compare", "select", "cast", "stop_gradient",
                         "reduce", "arg_max", "dot_general", "iota", "layer_norm", "clamp", "rng_uniform", "rng_normal",
                         "quantize", "dequantize", "requantize"})
    EXPECT_GT(computed[op], 8) << op;
}

TEST(PtirArithmetic, EveryOpRefusesWhatItIsNotDefinedFor) {
  int refused = 0;
  for (const json& c : cases()) {
    if (!c.contains("error")) continue;
    SCOPED_TRACE(c.dump());
    ++refused;
    const auto graph = graph_of(c);
    ASSERT_FALSE(graph);
    EXPECT_EQ(std::string(name(graph.error().code())), c["error"].get<std::string>()) << graph.error().text();
    EXPECT_NE(graph.error().text().find(c["op"].get<std::string>()), std::string_view::npos);
  }
  EXPECT_GT(refused, 60);
}

}  // namespace
}  // namespace ptir_ops_arithmetic_test
