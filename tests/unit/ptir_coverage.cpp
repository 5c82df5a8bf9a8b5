// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_coverage.cpp: which types and edges of each op the vectors hold, and why others cannot exist.
#include <zrt/core/cast.hpp>
#include <zrt/ir/ptir/infer.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <property/op_cases/all.hpp>
#include <set>
#include <string>
#include <support/vector_program.hpp>

namespace ptir_coverage_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// The name of the choice that says which of its functions an op computes, empty if it has one.
std::string kind_of(const ir::ptir::OpInfo& op, const json& attributes) {
  for (const ir::ptir::AttributeField& field : op.fields())
    if (field.kind == ir::ptir::AttributeKind::choice) return attributes.at(std::string(field.name));
  return "";
}

/// The operand whose type the op is counted under; where it takes none, its result.
const json& subject_of(const std::string& op, const json& c) {
  const std::size_t operand = op == "select" ? 1 : 0;
  return c["in"].size() > operand && !op.starts_with("rng_") ? c["in"][operand] : c["out"][0];
}

/// Whether an element of a float or complex tensor is a NaN, and whether one is infinite.
std::pair<bool, bool> special_elements(const HostValue& value) {
  std::pair<bool, bool> found{};
  const DType dtype = value.type.dtype;
  const DType part = dtype == DType::cf32 ? DType::f32 : dtype == DType::cf64 ? DType::f64 : dtype;
  if (!is_float(part)) return found;
  const std::size_t bytes = info(part).block_bytes;
  for (std::size_t at = 0; at < value.bytes.size(); at += bytes) {
    double x = 0;
    cast_elements(part, value.bytes.data() + at, DType::f64, reinterpret_cast<std::byte*>(&x), 0, 1);
    found.first = found.first || std::isnan(x);
    found.second = found.second || std::isinf(x);
  }
  return found;
}

/// What of shapes concerns an op, of values each of its functions.
constexpr std::string_view kOfShapes[]{"empty", "rank 0", "rank 8", "negative axis", "dynamic extent"};
constexpr std::string_view kOfValues[]{"NaN", "infinity", "overflow"};

std::set<std::string> edges_of(const json& c, const std::string& op, const json& attributes, std::uint32_t n) {
  std::set<std::string> edges;
  const json& subject = subject_of(op, c);
  for (const char* side : {"in", "out"})
    for (const json& tensor : c[side]) {
      const HostValue value = value_from(tensor, n);
      for (const int extent : tensor[1])
        if (extent < 0) edges.insert("dynamic extent");
      if (tensor[0] == subject[0]) {
        if (value.type.shape.elements({}).raw() == 0) edges.insert("empty");
        const auto [nan, infinite] = special_elements(value);
        if (side[0] == 'i' && nan) edges.insert("NaN");
        if (side[0] == 'i' && infinite) edges.insert("infinity");
      }
    }
  if (subject[1].empty()) edges.insert("rank 0");
  if (subject[1].size() == 8) edges.insert("rank 8");
  if (c.value("overflow", false)) edges.insert("overflow");
  if (has_axes(c, op, attributes, n)) edges.insert("negative axis");
  return edges;
}

/// A cell of the table: op and function, type, edge.
using Cell = std::array<std::string, 3>;

struct Table {
  /// For each op, and each function of an op, a vector of each type that does not violate.
  std::map<std::pair<std::string, std::string>, std::map<std::string, VectorProgram>> programs;
  std::set<Cell> cells;
};

const Table& table() {
  static const Table made = [] {
    Table t;
    each_vector([&](const json& c, const std::string& op, const json& attributes, std::uint32_t n) {
      if (c.contains("violates")) return;
      const std::string kind = kind_of(*ir::ptir::find_op(op), attributes);
      const std::string type = subject_of(op, c)[0];
      auto& programs = t.programs[{op, kind}];
      if (!programs.contains(type)) programs.try_emplace(type, program_of(c, op, attributes, n, false));
      for (const std::string& edge : edges_of(c, op, attributes, n)) {
        const bool of_shapes = std::ranges::find(kOfShapes, edge) != std::end(kOfShapes);
        t.cells.insert({of_shapes || kind.empty() ? op : op + " " + kind, type, edge});
      }
    });
    return t;
  }();
  return made;
}

/// A type without a vector is one that the op, and each function of it, refuses.
TEST(PtirCoverage, EveryTypeThatAnOpTakesHasAVector) {
  int refused = 0;
  for (const auto& [row, programs] : table().programs)
    for (const DTypeInfo& info : kDTypes) {
      const std::string type(info.name);
      if (is_block(info.dtype) || programs.contains(type)) continue;
      // Every vector with the type in the place of its own, such as an si8 that may be an index too, gives an error.
      for (const auto& [own, vector] : programs) {
        std::string text = vector.text;
        for (std::size_t at = 0; (at = text.find(own, at)) != std::string::npos; at += type.size())
          text.replace(at, own.size(), type);
        SCOPED_TRACE(text);
        const auto program = ir::ptir::parse(text);
        if (!program) {
          EXPECT_EQ(program.error().code(), Errc::dtype_mismatch) << program.error().text();
          continue;
        }
        const ProgramRun run = run_program(*program, vector.in);
        ASSERT_TRUE(run.refused) << row.first << " " << row.second;
        const Errc code = run.refused->code();
        EXPECT_TRUE(code == Errc::dtype_mismatch || code == Errc::unimplemented) << name(code);
      }
      ++refused;
    }
  EXPECT_GT(refused, 20);
}

/// What a program of one instruction says when its output is declared as it is inferred; nothing if it runs.
std::optional<Error> refusal_of(const std::string& text, const std::vector<HostValue>& in) {
  auto program = ir::ptir::parse(text);
  if (!program) return program.error();
  ir::ptir::Region& region = program->regions[0];
  std::vector<ir::ptir::TensorType> types;
  for (const ir::ptir::Parameter& parameter : region.parameters) types.push_back(parameter.type);
  const auto given = ir::ptir::infer(*program, region.instructions[0], types);
  if (!given) return given.error();
  const auto range = program->add(program->types, given->elements.span());
  if (!range) return range.error();
  region.instructions[0].output.elements = *range;
  for (std::size_t i = 0; i < region.results.size(); ++i) region.results[i].type = given->elements[i];
  return run_program(*program, in).refused;
}

/// The types that attributes name and those of the operands beside the first: one without a vector is refused.
TEST(PtirCoverage, EveryTypeOfAnAttributeOrAnOperandHasAVector) {
  struct Place {
    VectorProgram vector;
    std::string text;  ///< of the vector, with a mark in the place of the type
  };
  std::map<std::string, std::map<std::string, Place>> rows;
  each_vector([&](const json& c, const std::string& op, const json& attributes, std::uint32_t n) {
    if (c.contains("violates")) return;
    std::optional<VectorProgram> v;
    // What stands before the type in the text, and the type.
    const auto keep = [&](const std::string& row, const std::string& type, const std::string& before) {
      if (rows[row].contains(type)) return;
      if (!v) v = program_of(c, op, attributes, n, false);
      std::string text = v->text;
      const std::size_t at = text.find(before + type);
      ASSERT_NE(at, std::string::npos) << text;
      rows[row].try_emplace(type, *v, text.replace(at + before.size(), type.size(), "\x01"));
    };
    for (const ir::ptir::AttributeField& field : ir::ptir::find_op(op)->fields()) {
      const std::string key(field.name);
      if (field.kind == ir::ptir::AttributeKind::dtype && attributes.contains(key))
        keep(op + " " + key, attributes[key], key + " = ");
    }
    const bool alike =
        op == "elementwise_binary" || op == "compare" || op == "concat" || op == "clamp" || op == "select";
    for (std::size_t i = 1; i < c["in"].size() && !alike; ++i)
      keep(op + " operand " + std::to_string(i), c["in"][i][0], "%" + std::to_string(i) + ": ");
  });
  for (const auto& [row, types] : rows)
    for (const DTypeInfo& info : kDTypes) {
      const std::string type(info.name);
      if (is_block(info.dtype) || types.contains(type)) continue;
      for (const auto& [own, place] : types) {
        std::string text = place.text;
        text.replace(text.find('\x01'), 1, type);
        const auto refused = refusal_of(text, place.vector.in);
        ASSERT_TRUE(refused) << row << " may be " << type << " and has no vector: " << text;
        EXPECT_TRUE(refused->code() == Errc::dtype_mismatch || refused->code() == Errc::unimplemented)
            << text << refused->text();
      }
    }
}

/// A line of no_vectors.txt: rows | types | edges | reason, each of the first three a list with commas, or `*`.
struct Absent {
  std::string line;
  std::set<std::string> rows, types, edges;
  bool used = false;

  static std::set<std::string> list(const std::string& text) {
    std::set<std::string> names;
    std::istringstream in(text);
    for (std::string one; std::getline(in, one, ',');) {
      one.erase(0, one.find_first_not_of(' '));
      one.erase(one.find_last_not_of(' ') + 1);
      names.insert(one);
    }
    return names;
  }
  bool names_type(const std::string& type) const {
    const DType dtype = dtype_named(type);
    const char* group = is_float(dtype) ? "floats" : type.starts_with("cf") ? "complex" : "integers";
    return types.contains("*") || types.contains(type) || types.contains(group);
  }
  bool names(const Cell& cell) const {
    const std::string op = cell[0].substr(0, cell[0].find(' '));
    return (rows.contains("*") || rows.contains(cell[0]) || rows.contains(op)) && names_type(cell[1]) &&
           (edges.contains("*") || edges.contains(cell[2]));
  }
};

std::vector<Absent> absent_cells() {
  std::ifstream file(path_of("no_vectors.txt"));
  std::vector<Absent> absent;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string rows, types, edges, reason;
    std::getline(in, rows, '|');
    std::getline(in, types, '|');
    std::getline(in, edges, '|');
    std::getline(in, reason);
    EXPECT_GT(reason.size(), 10u) << "no reason: " << line;
    absent.push_back({line, Absent::list(rows), Absent::list(types), Absent::list(edges)});
  }
  return absent;
}

/// The primitives whose cases say why they have no vector.
std::set<std::string_view> ops_without_vectors() {
  std::set<std::string_view> names;
  const auto add = [&]<class O>(std::type_identity<O>) {
    if constexpr (op_cases::StatesNoVectors<O>) {
      EXPECT_GT(std::string_view(op_cases::OpCases<O>::no_vectors).size(), 10u) << "no reason: " << O::name;
      names.insert(O::name);
    }
  };
  [&]<class... O>(boost::mp11::mp_list<O...>) { (add(std::type_identity<O>{}), ...); }(op_cases::CatalogWithCases{});
  return names;
}

/// The catalog's primitives by the types that they take and the edges: each cell has a vector, or a reason in
/// no_vectors.txt why there is none, never both.
TEST(PtirCoverage, EveryEdgeOfEveryTypeHasAVectorOrAReason) {
  std::vector<Absent> absent = absent_cells();
  std::map<std::string, std::string> missing;
  int with_vector = 0, without = 0;
  const auto judge = [&](const Cell& cell) {
    const bool there = table().cells.contains(cell);
    bool excused = false;
    for (Absent& line : absent) {
      if (!line.names(cell)) continue;
      EXPECT_FALSE(there) << cell[0] << ", " << cell[1] << ", " << cell[2]
                          << " has a vector; the list says: " << line.line;
      line.used = excused = true;
    }
    ++(there ? with_vector : without);
    if (std::getenv("ZRT_TEST_PRINT_CELLS") != nullptr)
      std::printf("%s | %s | %s | %s\n", cell[0].c_str(), cell[1].c_str(), cell[2].c_str(), there ? "vector" : "none");
    if (!there && !excused) missing[cell[0] + " | " + cell[2]] += " " + cell[1];
  };
  const std::set<std::string_view> none = ops_without_vectors();
  for (const ir::ptir::OpInfo& op : ir::ptir::kOps) {
    if (none.contains(op.name)) continue;
    std::set<std::string> all, kinds{""};
    for (const ir::ptir::AttributeField& field : op.fields())
      if (field.kind == ir::ptir::AttributeKind::choice) kinds = {field.choices.begin(), field.choices.end()};
    for (const std::string& kind : kinds) {
      std::set<std::string> types;
      if (const auto row = table().programs.find({std::string(op.name), kind}); row != table().programs.end())
        for (const auto& [type, program] : row->second) types.insert(type);
      else
        for (const DTypeInfo& info : kDTypes)
          if (!is_block(info.dtype)) types.insert(std::string(info.name));
      all.merge(std::set(types));
      for (const std::string& type : types)
        for (const std::string_view edge : kOfValues)
          judge({std::string(op.name) + (kind.empty() ? "" : " ") + kind, type, std::string(edge)});
    }
    for (const std::string& type : all)
      for (const std::string_view edge : kOfShapes) judge({std::string(op.name), type, std::string(edge)});
  }
  for (const auto& [cell, types] : missing) ADD_FAILURE() << "no vector: " << cell << " |" << types;
  RecordProperty("cells_with_a_vector", with_vector);
  RecordProperty("cells_without", without);
  for (const Absent& line : absent) EXPECT_TRUE(line.used) << "no such cell: " << line.line;
}

}  // namespace
}  // namespace ptir_coverage_test
