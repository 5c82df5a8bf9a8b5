// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_vectors.cpp: every vector of the ops once more as a program: text, verifier, graph, plan, runner.
#include <zrt/core/cast.hpp>
#include <zrt/ir/ptir/infer.hpp>
#include <zrt/ir/ptir/text.hpp>
#include <zrt/ops/op_table.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <support/c_code.hpp>
#include <support/run_plan.hpp>
#include <support/run_program.hpp>

namespace ptir_vectors_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using nlohmann::json;

DType dtype_named(const std::string& name) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  ADD_FAILURE() << "no type " << name;
  return DType::f32;
}

std::vector<std::byte> bytes_from(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(hex.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

/// [dtype, extents, bytes in hexadecimal]; an extent of -k is k times `n`.
HostValue value_from(const json& tensor, std::uint32_t n) {
  HostValue value{{dtype_named(tensor[0]), {}}, bytes_from(tensor[2])};
  for (const int extent : tensor[1])
    value.type.shape = value.type.shape.appended(extent < 0 ? static_cast<std::uint32_t>(-extent) * n
                                                            : static_cast<std::uint32_t>(extent));
  value.bytes.resize(bytes_of(value.type.dtype, value.type.shape.elements({}).raw()));
  return value;
}

std::string text_of(const TensorType& type) {
  std::string text = std::string(name(type.dtype)) + "[";
  for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(type.shape[axis].extent);
  return text + "]";
}

/// The attributes of `op` in text, from values that bear their names; `x` is the dtype of the first operand.
std::string attributes_text(const std::string& op, const json& values, const std::string& x, std::uint32_t n) {
  using enum ir::ptir::AttributeKind;
  static const std::map<std::string, std::string> kAliases{
      {"new_shape", "shape"}, {"result_shape", "shape"}, {"pad_value", op == "pad" ? "value" : "pad_value"}};
  std::string text;
  for (const ir::ptir::AttributeField& field : ir::ptir::find_op(op)->fields()) {
    std::string key(field.name);
    if (const auto alias = kAliases.find(key); !values.contains(key) && alias != kAliases.end()) key = alias->second;
    if (!values.contains(key) && key == "pad_value" && values.contains("value")) key = "value";
    if (!values.contains(key)) {
      if (field.kind == boolean) text += (text.empty() ? "" : ", ") + std::string(field.name) + " = false";
      continue;
    }
    const json& value = values[key];
    std::string one;
    switch (field.kind) {
      case integer:
        one = std::to_string(value.is_number_unsigned() ? static_cast<std::int64_t>(value.get<std::uint64_t>())
                                                        : value.get<std::int64_t>());
        break;
      case real: {
        char bits[24];
        std::snprintf(bits, sizeof bits, "0x%016llx", static_cast<unsigned long long>(value.get<std::uint64_t>()));
        one = bits;
        break;
      }
      case boolean:
        one = value == 0 || value == false ? "false" : value == 1 || value == true ? "true" : value.dump();
        break;
      case dtype:
      case choice:
        one = value.get<std::string>();
        break;
      case literal:
        one = x + "[] x \"" + value.get<std::string>() + "\"";
        break;
      default:
        for (const long long number : value)
          one += (one.empty() ? "" : ", ") + std::to_string(field.kind == shape && number < 0 ? -number * n : number);
        one = "[" + one + "]";
    }
    text += (text.empty() ? "" : ", ") + std::string(field.name) + " = " + one;
  }
  return text;
}

/// The same attributes with axes that count from the end.
json with_negative_axes(const std::string& op, json values, const std::vector<HostValue>& in) {
  const auto turn = [&](const char* key, std::size_t operand) {
    if (!values.contains(key)) return;
    const long rank = op == "iota" ? static_cast<long>(values["shape"].size()) : long{in[operand].type.shape.rank};
    const auto one = [rank](const json& axis) { return json(axis.get<long>() - rank); };
    json& value = values[key];
    if (value.is_array()) {
      for (json& axis : value) axis = one(axis);
    } else if (value.get<long>() < rank) {
      value = one(value);  // an index_vector_dim may be the rank itself
    }
  };
  for (const char* key : {"axis", "feature_axis", "axes", "perm", "batch_lhs", "contract_lhs", "inserted_window_dims",
                          "scatter_dims_to_operand_dims"})
    turn(key, 0);
  for (const char* key : {"batch_rhs", "contract_rhs", "index_vector_dim"}) turn(key, 1);
  turn("update_window_dims", 2);
  return values;
}

/// A program of one instruction.
std::string program_text(const std::string& op, const std::string& attributes, const std::vector<HostValue>& in,
                         const std::vector<HostValue>& out, bool tuple) {
  std::string parameters, operands, types, results;
  const std::string id = "%" + std::to_string(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::string value = "%" + std::to_string(i);
    parameters += (i == 0 ? "" : ", ") + value + ": " + text_of(in[i].type);
    operands += (i == 0 ? "" : ", ") + value;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    types += (i == 0 ? "" : ", ") + text_of(out[i].type);
    results += (i == 0 ? "" : ", ") + id + (tuple ? "[" + std::to_string(i) + "]" : "") + ": " + text_of(out[i].type);
  }
  return "spec_version = ptir.v0.4\nregion @0 main(" + parameters + ") {\n  " + id + " = " + op + "(" + operands + ")" +
         (attributes.empty() ? "" : " {" + attributes + "}") + ": " + (tuple ? "tuple<" + types + ">" : types) +
         "\n  return " + results + "\n}\n";
}

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

/// One vector as a program with constant extents.
struct VectorProgram {
  std::string text;
  std::vector<HostValue> in, out;
  bool violates = false;
  bool refused = false;  ///< before it runs: an axis known to be empty has no largest element
};

/// `negative` counts axes from the end.
VectorProgram program_of(const json& c, const std::string& op, const json& given, std::uint32_t n, bool negative) {
  VectorProgram v;
  for (const json& tensor : c["in"]) v.in.push_back(value_from(tensor, n));
  for (const json& tensor : c["out"]) v.out.push_back(value_from(tensor, n));
  for (HostValue& value : v.out)
    if (info(value.type.dtype).block_elems == 2 && value.type.shape.elements({}).raw() % 2 != 0)
      value.bytes.back() &= std::byte{0x0f};
  v.violates = c.value("violates", false);
  v.refused = op == "arg_max" && v.in[0].type.shape[given["axis"]].extent == 0;
  const json values = negative ? with_negative_axes(op, given, v.in) : given;
  const std::string x = v.in.empty() ? "" : std::string(name(v.in[0].type.dtype));
  std::string attributes = attributes_text(op, values, x, n);
  if (op == "constant") {
    attributes = "value = " + text_of(v.in[0].type) + " x \"" + c["in"][0][2].get<std::string>() + "\"";
    v.in.clear();
  }
  v.text = program_text(op, attributes, v.in, v.out, op == "top_k");
  return v;
}

/// Runs one vector as a program with constant extents, and with dynamic ones where it has any.
void check(const json& c, const std::string& op, const json& given, std::uint32_t n, bool negative) {
  const VectorProgram v = program_of(c, op, given, n, negative);
  SCOPED_TRACE(v.text.substr(0, 600));
  auto program = ir::ptir::parse(v.text);
  ASSERT_TRUE(program) << program.error().text();
  bool dynamic = false;
  for (const json& tensor : c["in"])
    for (const int extent : tensor[1]) dynamic = dynamic || extent < 0;
  for (int round = 0; round < (dynamic && op != "constant" ? 2 : 1); ++round) {
    SCOPED_TRACE(round == 0 ? "constant extents" : "dynamic extents");
    if (round == 1) {
      auto open = with_dynamic_extents(std::move(*program), c["in"]);
      ASSERT_TRUE(open) << open.error().text();
      program = std::move(open);
    }
    const ProgramRun run = run_program(*program, v.in, 2);
    if (v.violates) {
      // With the extents known, some of it shows before the program runs.
      ASSERT_TRUE(run.refused || run.failed);
      if (run.failed) {
        EXPECT_EQ(run.failed->code(), Errc::spec_violation);
      }
      continue;
    }
    if (v.refused) {
      ASSERT_TRUE(run.refused);
      continue;
    }
    ASSERT_FALSE(run.refused) << run.refused->text();
    ASSERT_FALSE(run.failed) << run.failed->text();
    ASSERT_EQ(run.outputs.size(), v.out.size());
    for (std::size_t i = 0; i < v.out.size(); ++i) {
      EXPECT_EQ(run.outputs[i].type, v.out[i].type);
      EXPECT_EQ(first_difference(c, run.outputs[i], v.out[i]), v.out[i].type.shape.elements({}).raw())
          << "output " << i;
    }
  }
}

/// Vectors as functions of one C file.
class InC {
 public:
  /// Every vector if the environment has ZRT_TEST_ALL_VECTORS, else one in so many.
  static constexpr std::size_t kOneIn = 14;

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

json vectors(const char* file) {
  std::ifstream stream(std::string(ZRT_TEST_DATA_DIR "/ptir/") + file);
  return json::parse(stream);
}

TEST(PtirVectors, MovementGivesTheSameAsAProgram) {
  const json all = vectors("movement.json");
  std::map<std::string, int> seen;
  for (const json& c : all["cases"]) {
    for (const bool negative : {false, true}) check(c, c["op"], c["attrs"], all["n"], negative);
    ++seen[c["op"]];
    if (HasFailure()) return;
  }
  EXPECT_EQ(seen.size(), 18u);
}

/// Stands for a kind that the op knows and the IR has no name for.
constexpr std::string_view kNameless = "nameless";

/// A parameter block as attributes under their names in the IR.
json attributes_of_block(const OpRow& row, const std::vector<std::byte>& block) {
  json fields = json::object();
  for (const Field& field : row.fields) {
    json list = json::array();
    for (std::size_t i = 0; i < field.count; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, block.data() + field.offset + i * field.size, field.size);
      list.push_back(word);
    }
    fields[std::string(field.name)] = field.count == 1 ? list[0] : list;
  }
  const std::string op(row.name);
  json a = fields;
  const auto dtype = [&](const char* from, const char* to) {
    if (!fields.contains(from)) return;
    const auto number = fields[from].get<std::uint8_t>();
    a[to] = is_dtype(number) ? name(static_cast<DType>(number)) : kNameless;
  };
  for (const char* key : {"dtype", "accum_dtype", "out_dtype", "output_dtype"}) dtype(key, key);
  dtype("index_dtype", "output_dtype");
  if (fields.contains("keep_dims")) a["keepdims"] = fields["keep_dims"];
  if (fields.contains("kind")) {
    const auto* info = ir::ptir::find_op(op);
    for (const auto& field : info->fields())
      if (const std::size_t kind = fields["kind"]; field.kind == ir::ptir::AttributeKind::choice)
        a[std::string(field.name)] = kind < field.choices.size() ? field.choices[kind] : kNameless;
  }
  if (op == "reduce") {
    a["axes"] = json::array();
    for (int axis = 0; axis < 8; ++axis)
      if ((fields["axes"].get<int>() >> axis & 1) != 0) a["axes"].push_back(axis);
  }
  if (op == "dot_general")
    for (const char* side : {"lhs", "rhs"})
      for (const char* what : {"batch", "contract"}) {
        json list = json::array();
        for (std::size_t i = 0; i < fields[std::string(what) + "_count"]; ++i)
          list.push_back(fields[std::string(what) + "_" + side][i]);
        a[std::string(what) + "_" + side] = list;
      }
  if (fields.contains("extent")) {
    a["shape"] = json::array();
    for (std::size_t i = 0; i < fields["rank"]; ++i) {
      const int extent = fields["extent"][i];
      a["shape"].push_back(fields["symbol"][i] == 0 ? extent : -extent);
    }
  }
  if (fields.contains("per_axis") && fields["per_axis"] == 0) a.erase("axis");
  return a;
}

/// Calls `use(case, op, attributes)` for every case of arithmetic that a program can say.
template <class Use> void each_arithmetic(Use&& use) {
  for (const json& c : vectors("arithmetic.json")) {
    if (c.contains("error")) continue;
    const std::string op = c["op"];
    const OpRow* row = (*catalog_ops().table)[number(ir::ptir::find_op(op)->opcode)];
    json a = attributes_of_block(*row, bytes_from(c["block"]));
    // A seed that is an operand is no attribute.
    if (op.starts_with("rng_") && !c["in"].empty()) a.erase("seed");
    if (a.value("op", "") != kNameless) use(c, op, a);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(PtirVectors, ArithmeticGivesTheSameAsAProgram) {
  std::map<std::string, int> seen;
  each_arithmetic([&](const json& c, const std::string& op, const json& a) {
    for (const bool negative : {false, true}) check(c, op, a, c.value("n", 3u), negative);
    ++seen[op];
  });
  EXPECT_EQ(seen.size(), 17u);
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
    const ProgramRun run = run_program(*program, {&from, 1});
    ASSERT_FALSE(run.refused) << run.refused->text();
    EXPECT_EQ(first_difference({}, run.outputs[0], to), to.type.shape[0].extent);
    ++pairs;
  });
  EXPECT_EQ(pairs, 17 * 17);
}

TEST(PtirVectors, GiveTheSameInC) {
  InC code;
  const json movement = vectors("movement.json");
  for (const json& c : movement["cases"]) code.add(c, program_of(c, c["op"], c["attrs"], movement["n"], false));
  each_arithmetic([&](const json& c, const std::string& op, const json& a) {
    code.add(c, program_of(c, op, a, c.value("n", 3u), false));
  });
  each_cast([&](const std::string& text, const HostValue& from, const HostValue& to) {
    code.add(json::object(), {text, {from}, {to}});
  });
  ASSERT_FALSE(HasFailure());
  EXPECT_GT(code.size(), 120u);
  code.check();
}

/// x is 3 rows of 5, y its rows 2, 0 and 2.
constexpr std::string_view kEveryRegion = R"(spec_version = ptir.v0.4
region @0 main(%0 n: si32[], %1 flag: i1[], %2 x: T[3, 5], %3 y: T[3, 5]) {
  %4 = cond(%1, %2, %3) {true_region = @1, false_region = @2}: T[3, 5]
  %5 = while_loop(%0, %2, %3) {cond_region = @3, body_region = @4}: tuple<si32[], T[3, 5], T[3, 5]>
  %6 = take(%2, si32[] {0}): T[5]
  %7 = scan(%6, %3) {body_region = @5, carry_count = 1, scan_output_count = 1}: tuple<T[5], T[3, 5]>
  %8 = take(%2, si32[3] {0, 2, 0}): T[3, 5]
  %9 = take(%2, si32[] {2}): T[5]
  return %4: T[3, 5], %5[1]: T[3, 5], %5[2]: T[3, 5], %7[1]: T[3, 5], %7[0]: T[5], %8: T[3, 5], %9: T[5]
}
region @1 first(%0: T[3, 5], %1: T[3, 5]) {
  return %0: T[3, 5]
}
region @2 second(%0: T[3, 5], %1: T[3, 5]) {
  return %1: T[3, 5]
}
region @3 more(%0: si32[], %1: T[3, 5], %2: T[3, 5]) {
  %3 = compare(%0, si32[] {0}) {op = gt}: i1[]
  return %3: i1[], %0: si32[], %1: T[3, 5], %2: T[3, 5]
}
region @4 swap(%0: si32[], %1: T[3, 5], %2: T[3, 5]) {
  %3 = elementwise_binary(%0, si32[] {1}) {op = sub}: si32[]
  return %3: si32[], %2: T[3, 5], %1: T[3, 5]
}
region @5 delay(%0: T[5], %1: T[5]) {
  return %1: T[5], %0: T[5]
}
)";

TEST(PtirVectors, RegionsCarryEveryType) {
  const json movement = vectors("movement.json");
  int types = 0;
  for (const json& c : movement["cases"]) {
    if (c["op"] != "take" || c["in"][0][1] != json{3, 5}) continue;
    const std::string type = c["in"][0][0];
    SCOPED_TRACE(type);
    std::string text(kEveryRegion);
    for (std::size_t at = 0; (at = text.find("T[", at)) != std::string::npos;) text.replace(at, 1, type);
    const auto program = ir::ptir::parse(text);
    ASSERT_TRUE(program) << program.error().text();
    const HostValue x = value_from(c["in"][0], 3);
    const HostValue y = value_from(c["out"][0], 3);
    for (const char* flag : {"00", "01"}) {
      const HostValue inputs[]{value_from({"si32", json::array(), "03000000"}, 3),
                               value_from({"i1", json::array(), flag}, 3), x, y};
      const ProgramRun run = run_program(*program, inputs, 2);
      ASSERT_FALSE(run.refused) << run.refused->text();
      ASSERT_FALSE(run.failed) << run.failed->text();
      EXPECT_TRUE(run.outputs[0].bytes == (flag[1] == '1' ? x : y).bytes) << "cond";
      EXPECT_TRUE(run.outputs[1].bytes == y.bytes && run.outputs[2].bytes == x.bytes) << "while_loop, three trips";
      EXPECT_TRUE(run.outputs[3].bytes == run.outputs[5].bytes) << "scan's rows";
      EXPECT_TRUE(run.outputs[4].bytes == run.outputs[6].bytes) << "scan's carry";
    }
    ++types;
  }
  EXPECT_EQ(types, 19);
}

/// A type without a vector is one that the op refuses.
TEST(PtirVectors, EveryTypeThatAnOpTakesHasAVector) {
  std::map<std::string, std::map<std::string, VectorProgram>> by_op;
  const auto operand = [](const std::string& op) { return op == "select" ? std::size_t{1} : std::size_t{0}; };
  const auto keep = [&](const json& c, const std::string& op, VectorProgram v) {
    const json& of = c["in"].size() > operand(op) && !op.starts_with("rng_") ? c["in"][operand(op)] : c["out"][0];
    by_op[op].try_emplace(of[0], std::move(v));
  };
  const json movement = vectors("movement.json");
  for (const json& c : movement["cases"])
    if (!c.contains("violates")) keep(c, c["op"], program_of(c, c["op"], c["attrs"], movement["n"], false));
  each_arithmetic([&](const json& c, const std::string& op, const json& a) {
    if (!c.contains("violates")) keep(c, op, program_of(c, op, a, c.value("n", 3u), false));
  });
  ASSERT_EQ(by_op.size(), 35u);
  int refused = 0;
  for (const auto& [op, programs] : by_op)
    for (const DTypeInfo& row : kDTypes) {
      const std::string type(row.name);
      if (is_block(row.dtype) || programs.contains(type)) continue;
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
        ASSERT_TRUE(run.refused);
        const Errc code = run.refused->code();
        EXPECT_TRUE(code == Errc::dtype_mismatch || code == Errc::unimplemented) << name(code);
      }
      ++refused;
    }
  EXPECT_GT(refused, 20);
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
