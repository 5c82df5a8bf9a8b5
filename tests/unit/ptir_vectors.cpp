// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_vectors.cpp: every vector of the ops once more as a program: text, verifier, graph, plan, runner.
#include <zrt/core/cast.hpp>
#include <zrt/ir/ptir/infer.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <support/c_code.hpp>
#include <support/vector_program.hpp>

namespace ptir_vectors_test {
namespace {

using namespace zrt;
using namespace zrt::test;

/// The same program with the inputs' marked extents (-1) as ?N and others that follow the step as ?.
Result<ir::ptir::Program> with_dynamic_extents(ir::ptir::Program program, const json& in) {
  const auto symbol = program.dim("N");
  if (!symbol) return pass(symbol);
  ir::ptir::Region& region = program.regions[0];
  std::vector<ir::ptir::TensorType> types;
  for (std::size_t i = 0; i < region.parameters.size(); ++i) {
    ir::ptir::TensorType& type = region.parameters[i].type;
    for (std::size_t axis = 0; axis < type.shape.rank; ++axis)
      if (const int extent = in[i][1][axis]; extent < 0)
        type.shape.dims[axis] = extent == -1 ? *symbol : ir::ptir::Dim::any();
    types.push_back(type);
  }
  ir::ptir::Instruction& instruction = region.instructions[0];
  const auto given = ir::ptir::infer(program, instruction, types);
  if (!given) return pass(given);
  const auto range = program.add(program.types, given->elements.span());
  if (!range) return pass(range);
  instruction.output.elements = *range;
  for (std::size_t i = 0; i < region.results.size(); ++i) region.results[i].type = given->elements[i];
  return program;
}

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
  cast_elements(dtype, data + i * info(dtype).block_bytes, DType::f64, reinterpret_cast<std::byte*>(&x), 0, 1);
  return x;
}

/// The first element that is not the expected one, or the number of elements. All NaNs are one.
std::uint64_t first_difference(const json& c, const HostValue& got, const HostValue& expected) {
  const DType dtype = expected.type.dtype;
  const std::uint64_t elements = expected.type.shape.elements({}).raw();
  if (got.bytes == expected.bytes) return elements;
  if (!is_float(dtype) || got.bytes.size() != expected.bytes.size()) return 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double a = number_at(dtype, got.bytes.data(), i);
    const double e = number_at(dtype, expected.bytes.data(), i);
    if (std::isnan(a) && std::isnan(e)) continue;
    const std::int64_t apart = place_of(dtype, got.bytes.data(), i) - place_of(dtype, expected.bytes.data(), i);
    if (std::signbit(a) == std::signbit(e) && apart == 0) continue;
    if (c.value("ulps", 0) != 0 && std::abs(apart) <= c.value("ulps", 0)) continue;
    if (c.value("absolute", 0.0) != 0 && std::abs(a - e) <= c.value("absolute", 0.0)) continue;
    return i;
  }
  return elements;
}

/// What `run` did must be what the vector says.
void expect_results(const json& c, const VectorProgram& v, const ProgramRun& run) {
  if (v.violates) {
    // With the extents known, some of it shows before the program runs.
    ASSERT_TRUE(run.refused || run.failed);
    if (run.failed) {
      EXPECT_EQ(run.failed->code(), Errc::spec_violation);
    }
    return;
  }
  if (v.refused) {
    ASSERT_TRUE(run.refused);
    return;
  }
  ASSERT_FALSE(run.refused) << run.refused->text();
  ASSERT_FALSE(run.failed) << run.failed->text();
  ASSERT_EQ(run.outputs.size(), v.out.size());
  for (std::size_t i = 0; i < v.out.size(); ++i) {
    EXPECT_EQ(run.outputs[i].type, v.out[i].type);
    EXPECT_EQ(first_difference(c, run.outputs[i], v.out[i]), v.out[i].type.shape.elements({}).raw()) << "output " << i;
  }
}

/// Runs one vector as a program with constant extents, on both backends, and with dynamic ones where it has any.
void check(const json& c, const std::string& op, const json& given, std::uint32_t n, bool negative) {
  const VectorProgram v = program_of(c, op, given, n, negative);
  SCOPED_TRACE(v.text.substr(0, 600));
  auto program = ir::ptir::parse(v.text);
  ASSERT_TRUE(program) << program.error().text();
  {
    SCOPED_TRACE("constant extents");
    expect_results(c, v, run_program(*program, v.in, 2));
  }
  if (!negative) {
    SCOPED_TRACE("on the CPU's kernels");
    expect_results(c, v, run_program_on_cpu(*program, v.in, 2));
  }
  bool dynamic = false;
  for (const json& tensor : c["in"])
    for (const int extent : tensor[1]) dynamic = dynamic || extent < 0;
  if (!dynamic || op == "constant") return;
  SCOPED_TRACE("dynamic extents");
  const auto open = with_dynamic_extents(std::move(*program), c["in"]);
  ASSERT_TRUE(open) << open.error().text();
  expect_results(c, v, run_program(*open, v.in, 2));
}

/// Vectors as functions of one C file.
class InC {
 public:
  /// Every vector if the environment has ZRT_TEST_ALL_VECTORS, else one in so many.
  static constexpr std::size_t kOneIn = 29;

  void add(const json& c, VectorProgram v) {
    const bool all = std::getenv("ZRT_TEST_ALL_VECTORS") != nullptr;
    if (v.refused || (!all && seen_++ % kOneIn != 0)) return;
    const auto program = ir::ptir::parse(v.text);
    ASSERT_TRUE(program) << program.error().text();
    const auto added = code_.add(name_of(vectors_.size()), *program, v.in);
    if (!added && v.violates) return;
    ASSERT_TRUE(added) << v.text.substr(0, 600) << added.error().text();
    vectors_.push_back({c, std::move(v)});
  }
  void check() {
    const std::string said = code_.build();
    ASSERT_EQ(said, "");
    for (std::size_t i = 0; i < vectors_.size(); ++i) {
      const auto& [c, v] = vectors_[i];
      SCOPED_TRACE(v.text.substr(0, 600));
      std::vector<HostValue> got = v.out;
      for (HostValue& value : got) std::fill(value.bytes.begin(), value.bytes.end(), std::byte{0x5a});
      const int status = code_.call(name_of(i), v.in, got);
      EXPECT_EQ(status, v.violates ? 1 : 0);
      for (std::size_t o = 0; o < got.size(); ++o) {
        if (v.violates)
          EXPECT_TRUE(got[o].bytes == std::vector<std::byte>(got[o].bytes.size(), std::byte{0x5a})) << "output " << o;
        else
          EXPECT_EQ(first_difference(c, got[o], v.out[o]), v.out[o].type.shape.elements({}).raw()) << "output " << o;
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
  [[nodiscard]] std::size_t size() const { return vectors_.size(); }

 private:
  static std::string name_of(std::size_t i) { return "vector_" + std::to_string(i); }

  CCode code_;
  std::vector<std::pair<json, VectorProgram>> vectors_;
  std::size_t seen_ = 0;
};

/// Counts the vectors of each op that `each` gives, having run them as programs, with axes from either end.
template <class Each> std::size_t ops_that_agree(Each&& each) {
  std::map<std::string, int> seen;
  each([&](const json& c, const std::string& op, const json& attributes, std::uint32_t n) {
    check(c, op, attributes, n, false);
    if (has_axes(c, op, attributes, n)) check(c, op, attributes, n, true);
    ++seen[op];
  });
  return seen.size();
}

TEST(PtirVectors, MovementGivesTheSameAsAProgram) {
  EXPECT_EQ(ops_that_agree([](auto&& use) { each_of("movement.json", use); }), 18u);
}

TEST(PtirVectors, ArithmeticGivesTheSameAsAProgram) {
  EXPECT_EQ(ops_that_agree([](auto&& use) { each_arithmetic(use); }), 17u);
}

TEST(PtirVectors, EdgesGiveTheSameAsAProgram) {
  EXPECT_EQ(ops_that_agree([](auto&& use) { each_edge(use); }), 33u);
}

/// An extent that a run leaves empty: nothing is computed.
TEST(PtirVectors, ADynamicExtentMayBeZero) {
  std::set<std::string> seen;
  each_edge([&](const json& c, const std::string& op, const json& attributes, std::uint32_t) {
    if (c["in"].empty() || op == "constant" || c["in"][0][1].size() != 8) return;
    // Each type with one function of the op.
    if (!seen.insert(op + " " + c["in"].back()[0].get<std::string>()).second) return;
    const VectorProgram v = program_of(c, op, attributes, 0, false);
    SCOPED_TRACE(v.text.substr(0, 600));
    auto program = ir::ptir::parse(v.text);
    ASSERT_TRUE(program) << program.error().text();
    program = with_dynamic_extents(std::move(*program), c["in"]);
    ASSERT_TRUE(program) << program.error().text();
    const ProgramRun run = run_program(*program, v.in, 2);
    ASSERT_FALSE(run.refused) << run.refused->text();
    ASSERT_FALSE(run.failed) << run.failed->text();
    ASSERT_EQ(run.outputs.size(), v.out.size());
    for (std::size_t i = 0; i < v.out.size(); ++i) {
      EXPECT_EQ(run.outputs[i].type, v.out[i].type);
      EXPECT_EQ(run.outputs[i].type.shape.elements({}).raw(), 0u);
    }
  });
  EXPECT_GT(seen.size(), 400u);
}

/// Calls `use(text, from, to)` for every pair of types, with the program that casts one to the other.
template <class Use> void each_cast(Use&& use) {
  std::ifstream file(ZRT_TEST_DATA_DIR "/ptir/cast_vectors.txt");
  const auto tensor = [](const std::string& type, std::istringstream& words) {
    const DType dtype = dtype_named(type);
    const std::size_t size = info(dtype).block_bytes;
    HostValue value{{dtype, {}}, {}};
    std::uint32_t count = 0;
    for (std::uint64_t word; words >> std::hex >> word; ++count) {
      if (info(dtype).block_elems == 2 && count % 2 != 0) {
        value.bytes.back() |= static_cast<std::byte>(word << 4);
        continue;
      }
      for (std::size_t b = 0; b < size; ++b) value.bytes.push_back(static_cast<std::byte>(word >> 8 * b));
    }
    value.type.shape = {count};
    return value;
  };
  HostValue from;
  for (std::string line; std::getline(file, line);) {
    std::istringstream in(line);
    std::string type;
    in >> type;
    if (type == "from") {
      in >> type;
      from = tensor(type, in);
      continue;
    }
    const HostValue to = tensor(type, in);
    use(program_text("cast", "dtype = " + type, {from}, {to}, false), from, to);
  }
}

TEST(PtirVectors, CastsGiveTheSameAsPrograms) {
  int pairs = 0;
  each_cast([&](const std::string& text, const HostValue& from, const HostValue& to) {
    SCOPED_TRACE(text);
    const auto program = ir::ptir::parse(text);
    ASSERT_TRUE(program) << program.error().text();
    for (const ProgramRun& run : {run_program(*program, {&from, 1}), run_program_on_cpu(*program, {&from, 1})}) {
      ASSERT_FALSE(run.refused) << run.refused->text();
      EXPECT_EQ(first_difference({}, run.outputs[0], to), to.type.shape[0].extent);
    }
    ++pairs;
  });
  EXPECT_EQ(pairs, 17 * 17);
}

TEST(PtirVectors, GiveTheSameInC) {
  InC code;
  each_vector([&](const json& c, const std::string& op, const json& attributes, std::uint32_t n) {
    code.add(c, program_of(c, op, attributes, n, false));
  });
  each_cast([&](const std::string& text, const HostValue& from, const HostValue& to) {
    code.add(json::object(), {text, {from}, {to}});
  });
  ASSERT_FALSE(HasFailure());
  EXPECT_GT(code.size(), 120u);
  code.check();
}

/// Regions on tensors T[C], and a loop over the three rows of tensors T[S].
constexpr std::string_view kEveryRegion = R"(spec_version = ptir.v0.4
region @0 main(%0 n: si32[], %1 flag: i1[], %2 x: T[C], %3 y: T[C], %4 u: T[S], %5 v: T[S]) {
  %6 = cond(%1, %2, %3) {true_region = @1, false_region = @2}: T[C]
  %7 = while_loop(%0, %2, %3) {cond_region = @3, body_region = @4}: tuple<si32[], T[C], T[C]>
  %8 = take(%4, si32[] {0}): T[R]
  %9 = scan(%8, %5) {body_region = @5, carry_count = 1, scan_output_count = 1}: tuple<T[R], T[S]>
  %10 = take(%4, si32[1] {0}): T[L]
  %11 = take(%5, si32[2] {0, 1}): T[M]
  %12 = concat(%10, %11) {axis = 0}: T[S]
  %13 = take(%5, si32[] {2}): T[R]
  return %6: T[C], %7[1]: T[C], %7[2]: T[C], %9[1]: T[S], %9[0]: T[R], %12: T[S], %13: T[R]
}
region @1 first(%0: T[C], %1: T[C]) {
  return %0: T[C]
}
region @2 second(%0: T[C], %1: T[C]) {
  return %1: T[C]
}
region @3 more(%0: si32[], %1: T[C], %2: T[C]) {
  %3 = compare(%0, si32[] {0}) {op = gt}: i1[]
  return %3: i1[], %0: si32[], %1: T[C], %2: T[C]
}
region @4 swap(%0: si32[], %1: T[C], %2: T[C]) {
  %3 = elementwise_binary(%0, si32[] {1}) {op = sub}: si32[]
  return %3: si32[], %2: T[C], %1: T[C]
}
region @5 delay(%0: T[R], %1: T[R]) {
  return %1: T[R], %0: T[R]
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// The first elements of a vector's tensor, as many as `shape` has.
HostValue beginning(const json& tensor, const Shape& shape) {
  HostValue value = value_from(tensor, 3);
  const std::uint64_t elements = shape.elements({}).raw();
  value.type.shape = shape;
  value.bytes.resize(bytes_of(value.type.dtype, elements));
  if (info(value.type.dtype).block_elems == 2 && elements % 2 != 0) value.bytes.back() &= std::byte{0x0f};
  return value;
}

TEST(PtirVectors, RegionsCarryEveryType) {
  struct Extents {
    const char *rows, *row;  ///< of T[S] and T[R] in text
    Shape shape;
    bool scalars = false;  ///< T[C] is a scalar, else T[S]
  };
  const Extents all[]{{"3, 4", "4", {3, 4}},
                      {"3", "", {3}, true},
                      {"3, 0", "0", {3, 0}},
                      {"3, ?N", "?N", {3, 4}},
                      {"3, 2, 1, 1, 2, 1, 1, 1", "2, 1, 1, 2, 1, 1, 1", {3, 2, 1, 1, 2, 1, 1, 1}}};
  int types = 0;
  // Vectors of select have two tensors of twelve elements that hold every special value.
  each_of("edges/select.json", [&](const json& c, const std::string&, const json&, std::uint32_t) {
    if (c["in"][1][1].size() != 8) return;
    const std::string type = c["in"][1][0];
    for (const Extents& e : all) {
      const std::string rows(e.rows), row(e.row), more = row.empty() ? "" : ", " + row;
      std::string text = replaced(std::string(kEveryRegion), "[C]", e.scalars ? "[]" : "[" + rows + "]");
      for (const auto& [from, to] : {std::pair{"[S]", rows}, {"[R]", row}, {"[L]", "1" + more}, {"[M]", "2" + more}})
        text = replaced(std::move(text), from, "[" + to + "]");
      text = replaced(std::move(text), " T[", " " + type + "[");
      text = replaced(std::move(text), "<T[", "<" + type + "[");
      SCOPED_TRACE(text);
      const auto program = ir::ptir::parse(text);
      ASSERT_TRUE(program) << program.error().text();
      const HostValue x = beginning(c["in"][1], e.scalars ? Shape{} : e.shape);
      const HostValue y = beginning(c["in"][2], e.scalars ? Shape{} : e.shape);
      const HostValue u = beginning(c["in"][1], e.shape), v = beginning(c["in"][2], e.shape);
      for (const char* flag : {"00", "01"}) {
        const HostValue inputs[]{
            value_from({"si32", json::array(), "03000000"}, 3), value_from({"i1", json::array(), flag}, 3), x, y, u, v};
        for (const ProgramRun& run : {run_program(*program, inputs, 2), run_program_on_cpu(*program, inputs, 2)}) {
          ASSERT_FALSE(run.refused) << run.refused->text();
          ASSERT_FALSE(run.failed) << run.failed->text();
          EXPECT_TRUE(run.outputs[0].bytes == (flag[1] == '1' ? x : y).bytes) << "cond";
          EXPECT_TRUE(run.outputs[1].bytes == y.bytes && run.outputs[2].bytes == x.bytes) << "while_loop, three trips";
          EXPECT_TRUE(run.outputs[3].bytes == run.outputs[5].bytes) << "scan's rows";
          EXPECT_TRUE(run.outputs[4].bytes == run.outputs[6].bytes) << "scan's carry";
        }
      }
    }
    ++types;
  });
  EXPECT_EQ(types, 19);
}

/// Where the IR's own rule and the op's shape rule both refuse, they say it with one code.
TEST(PtirVectors, WhatAnOpRefusesAProgramRefusesWithItsCode) {
  int refused = 0;
  for (const json& c : vectors("arithmetic.json")) {
    if (!c.contains("error")) continue;
    const std::string op = c["op"];
    SCOPED_TRACE(c.dump().substr(0, 300));
    const ir::ptir::OpInfo& info = *ir::ptir::find_op(op);
    const OpRow* row = (*catalog_ops().table)[number(info.opcode)];
    if (c["in"].size() != info.operand_names) continue;
    const json a = attributes_of_block(*row, bytes_from(c["block"]));
    std::vector<HostValue> in;
    std::vector<ir::ptir::TensorType> types;
    for (const json& tensor : c["in"]) {
      in.push_back(value_from({tensor[0], tensor[1], ""}, 3));
      ir::ptir::Shape shape;
      for (std::uint8_t axis = 0; axis < in.back().type.shape.rank; ++axis)
        shape.append(in.back().type.shape[axis].extent);
      types.push_back({in.back().type.dtype, shape});
    }
    const std::string text =
        program_text(op, attributes_text(op, a, "", 3), in, {HostValue{{DType::f32, {}}, {}}}, false);
    auto program = ir::ptir::parse(text);
    if (!program) continue;  // the block says what no attribute can
    ir::ptir::Instruction& instruction = program->regions[0].instructions[0];
    const auto given = ir::ptir::infer(*program, instruction, types);
    ++refused;
    if (!given) {
      // Complex numbers into real ones are no cast, before they are not computed.
      const bool casts = c["error"] == "unimplemented" && given.error().code() == Errc::dtype_mismatch;
      EXPECT_TRUE(casts || name(given.error().code()) == c["error"].get<std::string>()) << text << given.error().text();
      continue;
    }
    const auto range = program->add(program->types, given->elements.span());
    ASSERT_TRUE(range);
    instruction.output.elements = *range;
    program->regions[0].results[0].type = given->elements[0];
    const ProgramRun run = run_program(*program, in);
    ASSERT_TRUE(run.refused) << text;
    EXPECT_EQ(name(run.refused->code()), c["error"].get<std::string>()) << text << run.refused->text();
  }
  EXPECT_GT(refused, 30);
}

}  // namespace
}  // namespace ptir_vectors_test
