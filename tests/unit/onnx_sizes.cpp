// SPDX-License-Identifier: Apache-2.0
// tests/unit/onnx_sizes.cpp: every ONNX operator with sizes beyond all bounds: what is refused names node and operator.
// test-set: full
#include <zrt/ir/expand.hpp>
#include <zrt/ir/onnx.hpp>
#include <zrt/ir/ptir/lower.hpp>

#include <gtest/gtest.h>

#include <string>
#include <support/onnx_file.hpp>
#include <vector>

namespace onnx_sizes_test {
namespace {

using namespace zrt;
using namespace zrt::test::onnx_file;
namespace onnx = zrt::ir::onnx;
using zrt::test::onnx_file::model;

constexpr std::int64_t kFar = std::int64_t{1} << 40;
constexpr std::int64_t kExtent = 0x7fffffff;

std::string list(std::string_view name, std::size_t count, std::int64_t value) {
  std::string bytes = field(1, name) + field(20, std::int64_t{7});
  for (std::size_t i = 0; i < count; ++i) bytes += field(8, value);
  return bytes;
}
std::string constants(std::string_view name, std::size_t count, std::int64_t value) {
  std::string bytes = field(1, static_cast<std::int64_t>(count)) + field(2, kInt64) + field(8, name);
  for (std::size_t i = 0; i < count; ++i) bytes += field(7, value);
  return field(5, bytes);
}

/// The words of a list.
std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> all;
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    all.emplace_back(word);
    list.remove_prefix(std::min(list.size(), word.size() + 1));
  }
  return all;
}

/// An operator that is translated, in its newest form, and an opset that has it.
struct NewestForm {
  std::string_view domain;
  const onnx::OperatorRow& row;
  const onnx::Schema& form;
  std::int64_t opset;
};
std::vector<NewestForm> newest_forms() {
  std::vector<NewestForm> all;
  for (const onnx::OperatorDomain& domain : onnx::kDomains)
    for (const onnx::OperatorRow& row : domain.rows) {
      const onnx::Schema* newest = nullptr;
      std::int64_t opset = domain.name == "ai.onnx" ? row.last : 1;
      for (const onnx::Schema& form : domain.schemas) {
        if (form.name != row.name) continue;
        if (form.withdrawn) opset = form.since - 1;
        if (!form.withdrawn) newest = &form;
      }
      EXPECT_NE(newest, nullptr) << row.name;
      if (newest != nullptr) all.push_back({domain.name, row, *newest, opset});
    }
  return all;
}

/// What becomes of nodes: an error that says where, or a program that a graph holds.
class Hostile {
 public:
  /// A file of one node of the operator, whose operands are these.
  void node_of(std::string_view domain, const onnx::OperatorRow& row, std::int64_t opset, const std::string& graph,
               const std::vector<std::string>& in, const std::vector<std::string>& attributes) {
    const bool standard = domain == "ai.onnx";
    const std::string file = model(graph + node(row.name, in, {"z"}, attributes, standard ? "" : domain) + output("z"),
                                   standard ? opset : onnx::kNewestOpset) +
                             (standard ? "" : import(domain, opset));
    ++tried;
    const auto program = onnx::read(std::as_bytes(std::span(file)));
    if (!program) {
      ++refused;
      const std::string place = "node 0 (" + std::string(row.name) + "): ";
      EXPECT_TRUE(program.error().text().starts_with(place)) << row.name << ": " << program.error().text();
      return;
    }
    std::vector<ir::ptir::Shape> shapes;
    for (const auto& parameter : program->regions[0].parameters) shapes.push_back(parameter.type.shape);
    const auto lowered = ir::ptir::lower(*program, shapes, *ir::Ops::of<ops::Catalog>().table);
    EXPECT_TRUE(lowered) << row.name << " is read, and then: " << lowered.error().text();
  }

  std::size_t tried = 0, refused = 0;
};

TEST(OnnxSizes, WhatNoGraphHoldsIsRefusedWithItsNodeAndOperator) {
  Hostile hostile;
  // Operands without elements let every other size through that their extents do not bound.
  const std::vector<std::string> shapes{
      input("x", kFloat, {1, 1, 4, 4}),
      input("x", kFloat, {0, 1, 4, 4}),
      input("x", kFloat, {kExtent, 1 << 24, 4, 4}),
      input("x", kFloat, {1, 1, 1 << 28, kExtent}),
      input("x", kFloat, {kExtent, 1 << 28}),
      input("x", kFloat, {2, 2, 8}),
      input("x", kInt64, {4}),
  };
  for (const auto& [domain, row, form, opset] : newest_forms())
    for (const std::string& x : shapes) {
      const std::string graph =
          x + constants("one", 1, kFar) + constants("two", 2, kFar) + constants("four", 4, kFar) +
          constants("eight", 8, kFar) +
          field(5, field(1, kFar) + field(1, std::int64_t{0}) + field(2, kInt64) + field(8, "far"));
      const std::vector<std::vector<std::string>> operands{{"x"},
                                                           {"x", "x"},
                                                           {"x", "x", "x"},
                                                           {"x", "x", "x", "x"},
                                                           {"x", "one"},
                                                           {"x", "two"},
                                                           {"x", "four"},
                                                           {"x", "eight"},
                                                           {"one"},
                                                           {"two"},
                                                           {"four"},
                                                           {"one", "one"},
                                                           {"one", "one", "one"},
                                                           {"x", "", "", "four"},
                                                           {"x", "four", "four"},
                                                           {"x", "x", "one"},
                                                           {"far"},
                                                           {"x", "far"},
                                                           {"x", "x", "four"},
                                                           {"x", "one", "one", "one"}};
      for (const auto& in : operands) {
        if (in.size() < form.inputs.least || in.size() > form.inputs.most) continue;
        hostile.node_of(domain, row, opset, graph, in, {});
        for (const std::string& name : words(form.attributes)) {
          hostile.node_of(domain, row, opset, graph, in, {integer(name, kFar)});
          hostile.node_of(domain, row, opset, graph, in, {list(name, 2, kFar)});
          hostile.node_of(domain, row, opset, graph, in, {list(name, 4, kFar)});
        }
      }
    }
  // Most of it is refused, by nearly every operator.
  EXPECT_GT(hostile.tried, std::size_t{60000});
  EXPECT_GT(hostile.refused, hostile.tried * 3 / 4) << hostile.tried;
}

}  // namespace
}  // namespace onnx_sizes_test
