// SPDX-License-Identifier: Apache-2.0
// tests/unit/codegen.cpp: programs as C, against the runner: random ones, control flow, what is refused.
#include <zrt/core/cast.hpp>
#include <zrt/ir/ptir/text.hpp>
#include <zrt/plan/c/literal.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <c_programs.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <support/c_code.hpp>
#include <support/random_program.hpp>

namespace codegen_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace ptir = zrt::ir::ptir;

TEST(Codegen, NumbersAreSpelledExactly) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t bits = i == 0   ? 1
                               : i == 1 ? std::uint64_t{1} << 63
                                        : random() >> (i % 2 == 0 ? 0 : random() % 64);
    const auto wide = std::bit_cast<double>(bits);
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const auto text = [](const plan::c::Expr& e) { return std::string(e.view()); };
    if (std::isfinite(wide)) {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(std::strtod(text(plan::c::literal(wide)).c_str(), nullptr)), bits);
    }
    if (std::isfinite(narrow)) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(std::strtof(text(plan::c::literal(narrow)).c_str(), nullptr)),
                static_cast<std::uint32_t>(bits));
    }
    const auto whole = static_cast<std::int64_t>(bits);
    if (whole != INT64_MIN) {
      EXPECT_EQ(std::strtoll(text(plan::c::literal(whole)).c_str(), nullptr, 10), whole);
    }
    EXPECT_EQ(std::strtoull(text(plan::c::literal(bits)).c_str(), nullptr, 10), bits);
  }
  EXPECT_EQ(plan::c::literal(std::numeric_limits<std::int64_t>::min()).view(), "INT64_MIN");
  EXPECT_EQ(plan::c::literal(-0.0f).view(), "-0.0f");
  EXPECT_EQ(plan::c::literal(-__builtin_inf()).view(), "-INFINITY");
}

TEST(Codegen, AnExpressionThatWasCutIsRefused) {
  plan::c::Expr most;
  for (std::size_t i = 0; i < plan::c::Expr::kCapacity; ++i) most.append({"x"});
  for (const char* more : {"", "x"}) {
    plan::c::Source w(system_allocator());
    w.line({plan::c::Expr{most, more}, ";"});
    const auto text = w.finish();
    EXPECT_EQ(text.has_value(), *more == '\0');
    EXPECT_TRUE(text || text.error().code() == Errc::limit_exceeded);
  }
}

double number_at(const HostValue& value, std::uint64_t i) {
  std::array<double, 2> both{};
  const std::uint64_t odd = i % info(value.type.dtype).block_elems;
  cast_elements(value.type.dtype, value.bytes.data() + bytes_of(value.type.dtype, i - odd), DType::f64,
                reinterpret_cast<std::byte*>(both.data()), odd, 1);
  return both[odd];
}

/// The first element whose bits differ, by more than `relative` if it is not 0; NaNs are one.
std::uint64_t first_difference(const HostValue& got, const HostValue& expected, double relative) {
  const std::uint64_t elements = expected.type.shape.elements({}).raw();
  if (got.bytes == expected.bytes) return elements;
  if (!is_computed(expected.type.dtype) || (!is_float(expected.type.dtype) && relative == 0)) return 0;
  for (std::uint64_t i = 0; i < elements; ++i) {
    const double a = number_at(got, i), e = number_at(expected, i);
    if ((std::isnan(a) && std::isnan(e)) || (a == e && std::signbit(a) == std::signbit(e))) continue;
    // One unit of the narrowest type is a quarter of its number; of integers, 1.
    const double unit = is_float(expected.type.dtype) ? 0 : 1;
    const std::size_t bytes = info(expected.type.dtype).block_bytes;
    const double bound = bytes == 1 ? 0.25 : bytes == 2 ? 0x1p-7 : relative;
    if (relative == 0 || !(std::fabs(a - e) <= std::max(unit, bound * std::fabs(e)))) return i;
  }
  return elements;
}

/// Inputs whose shapes agree with each other as far as symbols say.
std::vector<HostValue> random_inputs(const ptir::Program& program, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<HostValue> inputs;
  for (const ptir::Parameter& p : program.regions[0].parameters) {
    HostValue value{{p.type.dtype, {}}, {}};
    for (const ptir::Dim dim : p.type.shape.view()) {
      const std::uint64_t extent = dim.is_constant() ? dim.constant()
                                   : dim.is_symbol() ? 1u + (dim.symbol() + seed) % 4
                                                     : random() % 5;
      value.type.shape = value.type.shape.appended(static_cast<std::uint32_t>(extent));
    }
    const std::uint64_t elements = value.type.shape.elements({}).raw();
    value.bytes.resize(bytes_of(p.type.dtype, elements) + 1);
    for (std::byte& byte : value.bytes) byte = static_cast<std::byte>(random() % (p.type.dtype == DType::i1 ? 2 : 256));
    // Indices are small, so that they name something; floats are seldom beyond all others.
    const bool index = p.type.dtype == DType::si32 || p.type.dtype == DType::si64;
    if (index || is_float(p.type.dtype))
      for (std::uint64_t i = 0; i < elements; ++i) {
        const double x = index ? static_cast<double>(random() % 4) : static_cast<double>(random() % 4096) / 256.0 - 4.0;
        if (random() % 40 != 0)
          cast_elements(DType::f64, reinterpret_cast<const std::byte*>(&x) - i * 8, p.type.dtype, value.bytes.data(), i,
                        1);
      }
    value.bytes.pop_back();
    inputs.push_back(std::move(value));
  }
  return inputs;
}

/// Programs as functions of one file, each with what the runner made of the same inputs.
class AgainstTheRunner {
 public:
  /// False where the program is none for C; then the runner has refused it too, unless it calls a custom target.
  bool add(const std::string& name, const ptir::Program& program, const std::vector<HostValue>& inputs,
           std::uint64_t trip_limit = 1000) {
    const auto added = code_.add(name, program, inputs, trip_limit);
    ProgramRun run = run_program(program, inputs, 1, trip_limit, false);
    if (!added) {
      EXPECT_TRUE(run.refused) << name << ": " << added.error().text();
      return false;
    }
    EXPECT_FALSE(run.refused) << name << ": " << run.refused->text();
    const auto text = ptir::print(program);
    double relative = 0;
    for (const char* libm : {"op = exp", "op = log", "op = tanh", "op = erf", "rng_normal"})
      if (std::string_view(text->view()).find(libm) != std::string_view::npos) relative = 1e-5;
    // Whole numbers are exact.
    if (std::string_view(text->view()).find("zrt.onnx.") != std::string_view::npos && !run.outputs.empty() &&
        is_float(run.outputs[0].type.dtype))
      relative = 1e-5;
    programs_.push_back({name, std::string(text->view()), inputs, std::move(run), relative});
    return true;
  }
  void check() {
    const std::string said = code_.build();
    ASSERT_EQ(said, "");
    for (const Program& p : programs_) {
      SCOPED_TRACE(p.name + "\n" + p.text);
      std::vector<HostValue> got = p.run.outputs;
      for (HostValue& value : got) std::fill(value.bytes.begin(), value.bytes.end(), std::byte{0x5a});
      const int status = code_.call(p.name, p.inputs, got);
      if (p.run.failed) {
        EXPECT_EQ(status, p.run.failed->code() == Errc::limit_exceeded ? 2 : 1);
        for (const HostValue& value : got)
          EXPECT_TRUE(value.bytes == std::vector<std::byte>(value.bytes.size(), std::byte{0x5a}));
        ++failed;
        continue;
      }
      ASSERT_EQ(status, 0);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(first_difference(got[i], p.run.outputs[i], p.relative), got[i].type.shape.elements({}).raw())
            << "output " << i;
      ++compared;
    }
  }
  int compared = 0, failed = 0;

 private:
  struct Program {
    std::string name, text;
    std::vector<HostValue> inputs;
    ProgramRun run;
    double relative;
  };
  CCode code_;
  std::vector<Program> programs_;
};

TEST(Codegen, RandomProgramsGiveWhatTheRunnerGives) {
  const char* more = std::getenv("ZRT_TEST_PROGRAMS");
  const std::uint32_t count = more != nullptr ? static_cast<std::uint32_t>(std::atoi(more)) : 80;
  AgainstTheRunner programs;
  for (std::uint32_t seed = 0; seed < count; ++seed) {
    const auto program = random_program(seed, 1 + seed % 8);
    ASSERT_TRUE(program) << program.error().text();
    (void)programs.add("random_" + std::to_string(seed), *program, random_inputs(*program, seed));
  }
  programs.check();
  EXPECT_GT(programs.compared, static_cast<int>(count / 8));
}

/// Products with patches are loops over x: no patches are written.
TEST(Codegen, ConvolutionsHoldNoPatches) {
  static constexpr std::int64_t kSize[]{3, 2}, kStrides[]{1, 2}, kLow[]{1, 0}, kHigh[]{1, 1}, kDilation[]{2, 1};
  using T = ir::ptir::Tensor;
  const auto patches = [](ir::ptir::Builder& b, const T& x) {
    return b.extract_patches(
        x,
        {.size = kSize, .strides = kStrides, .low = kLow, .high = kHigh, .base_dilation = {}, .dilation = kDilation});
  };
  AgainstTheRunner programs;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::si8, DType::ui32}) {
    ir::ptir::Builder b;
    const T x = b.parameter({dtype, {2, 6, 5, 4}});
    const T w = b.parameter({dtype, {24, 3}});
    const T all = patches(b, x);
    b.result(b.dot(all, w));
    b.result(b.dot_general(w, all, {.contract_lhs = {0}, .contract_rhs = {3}}));
    const T apart = b.reshape(all, {2, 4 * 3, 6, 2, 2});
    b.result(b.dot_general(apart, b.reshape(w, {2, 3, 6, 2}),
                           {.batch_lhs = {3}, .batch_rhs = {0}, .contract_lhs = {4, 2}, .contract_rhs = {3, 2}}));
    const auto program = b.finish();
    ASSERT_TRUE(program) << program.error().text();
    const std::string name = "convolve_" + std::string(zrt::name(dtype));
    ASSERT_TRUE(programs.add(name, *program, random_inputs(*program, 7)));
    std::vector<ptir::Shape> shapes{{2, 6, 5, 4}, {24, 3}};
    const auto text = engines::to_c(*program, shapes);
    ASSERT_TRUE(text) << text.error().text();
    EXPECT_NE(text->view().find("convolve"), std::string_view::npos);
    EXPECT_EQ(text->view().find("extract_patches"), std::string_view::npos);
  }
  programs.check();
  EXPECT_EQ(programs.compared, 5);
}

constexpr std::string_view kControl = R"(spec_version = ptir.v0.4
region @0 main(%0 n: si32[], %1 x: f32[3], %2 rows: f64[4, 3], %3 flag: i1[]) {
  %4 = while_loop(%0, %1) {cond_region = @2, body_region = @1}: tuple<si32[], f32[3]>
  %5 = cond(%3, %4[1], %1) {true_region = @3, false_region = @4}: f32[3]
  %6 = cast(%5) {dtype = f64}: f64[3]
  %7 = scan(%6, %2) {body_region = @5, carry_count = 1, scan_output_count = 2}: tuple<f64[3], f64[4, 3], i1[4]>
  return %4[0]: si32[], %5: f32[3], %7[0]: f64[3], %7[1]: f64[4, 3], %7[2]: i1[4], %1: f32[3]
}
region @1 body(%0: si32[], %1: f32[3]) {
  %2 = elementwise_binary(%0, si32[] {1}) {op = sub}: si32[]
  %3 = compare(%2, si32[] {2}) {op = lt}: i1[]
  %4 = cond(%3, %1, %1) {true_region = @3, false_region = @4}: f32[3]
  return %2: si32[], %4: f32[3]
}
region @2 more(%0: si32[], %1: f32[3]) {
  %2 = compare(%0, si32[] {0}) {op = gt}: i1[]
  return %2: i1[], %0: si32[], %1: f32[3]
}
region @3 add(%0: f32[3], %1: f32[3]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f32[3]
  return %2: f32[3]
}
region @4 negate(%0: f32[3], %1: f32[3]) {
  %2 = elementwise_unary(%0) {op = neg}: f32[3]
  return %2: f32[3]
}
region @5 step(%0: f64[3], %1: f64[3]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f64[3]
  %3 = reduce(%2) {kind = sum, axes = [0], keepdims = false, accum_dtype = f64, out_dtype = f64}: f64[]
  %4 = compare(%3, f64[] {1.0}) {op = gt}: i1[]
  return %2: f64[3], %1: f64[3], %4: i1[]
}
)";

template <class T> HostValue value_of(DType dtype, const Shape& shape, const std::vector<T>& data) {
  HostValue value{{dtype, shape}, std::vector<std::byte>(data.size() * sizeof(T))};
  std::memcpy(value.bytes.data(), data.data(), value.bytes.size());
  return value;
}

TEST(Codegen, ControlFlowIsThatOfC) {
  const auto program = ptir::parse(kControl);
  ASSERT_TRUE(program) << program.error().text();
  AgainstTheRunner programs;
  for (const std::int32_t trips : {0, 1, 5, 9})
    for (const bool flag : {false, true}) {
      const std::vector<HostValue> inputs{
          value_of<std::int32_t>(DType::si32, {}, {trips}), value_of<float>(DType::f32, {3}, {1, -2, 0.5}),
          value_of<double>(DType::f64, {4, 3}, {1, 2, 3, -9, 0.1, 0.2, 4, 5, 6, 0, 0, -3}),
          value_of<std::uint8_t>(DType::i1, {}, {flag ? std::uint8_t{1} : std::uint8_t{0}})};
      // Nine trips pass the limit.
      EXPECT_TRUE(
          programs.add("trips_" + std::to_string(trips) + "_" + (flag ? "true" : "false"), *program, inputs, 8));
    }
  programs.check();
  EXPECT_EQ(programs.compared, 6);
  EXPECT_EQ(programs.failed, 2);
}

TEST(Codegen, SumsAndCastsRoundAsTheRunnersDo) {
  const auto program = ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0: f32[3, 40], %1: f32[40, 2], %2: f64[64], %3: si64[64], %4: f64[64]) {
  %5 = dot_general(%0, %1) {batch_lhs = [], batch_rhs = [], contract_lhs = [1], contract_rhs = [0]}: f32[3, 2]
  %6 = dot_general(%4, %4) {batch_lhs = [], batch_rhs = [], contract_lhs = [0], contract_rhs = [0]}: f64[]
  %7 = reduce(%0) {kind = sum, axes = [0, 1], keepdims = false, accum_dtype = f16, out_dtype = f32}: f32[]
  %8 = cast(%2) {dtype = f16}: f16[64]
  %9 = cast(%2) {dtype = bf16}: bf16[64]
  %10 = cast(%2) {dtype = fp8_e4m3}: fp8_e4m3[64]
  %11 = cast(%2) {dtype = fp8_e5m2}: fp8_e5m2[64]
  %12 = cast(%3) {dtype = bf16}: bf16[64]
  %13 = cast(%3) {dtype = f32}: f32[64]
  %14 = broadcast_to(f32[] {0.3}) {result_shape = [3, 2]}: f32[3, 2]
  %15 = dot_general(%0, %1) {batch_lhs = [], batch_rhs = [], contract_lhs = [1], contract_rhs = [0]}: f32[3, 2]
  %16 = elementwise_binary(%15, %14) {op = mul}: f32[3, 2]
  return %16: f32[3, 2], %5: f32[3, 2], %6: f64[], %7: f32[], %8: f16[64], %9: bf16[64], %10: fp8_e4m3[64], %11: fp8_e5m2[64], %12: bf16[64], %13: f32[64]
})");
  ASSERT_TRUE(program) << program.error().text();
  std::mt19937_64 random(5);
  std::vector<float> x(120), w(80);
  for (float& each : x) each = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
  for (float& each : w) each = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 - 0.5);
  // Near the middle between two neighbours of a narrow type, further from it than f32 can say.
  std::vector<double> near(64), wide(64);
  std::vector<std::int64_t> whole(64);
  for (std::size_t i = 0; i < near.size(); ++i) {
    const int bits = std::array{3, 4, 8, 11}[i % 4];
    near[i] = 1.0 + static_cast<double>(i / 8 % 2) * std::ldexp(1.0, 1 - bits) + std::ldexp(1.0, -bits) +
              (i % 8 < 4 ? 0x1p-40 : -0x1p-40);
    if (i >= 32) near[i] = -near[i];
    wide[i] = static_cast<double>(random() >> 11) * 0x1p-53;
    whole[i] = (static_cast<std::int64_t>(0x80 + i % 4) << (40 + i % 8)) + (std::int64_t{1} << (39 + i % 8 - i % 2)) +
               (i % 3 == 0 ? 1 : -1);
  }
  AgainstTheRunner programs;
  EXPECT_TRUE(programs.add(
      "rounding", *program,
      {value_of(DType::f32, {3, 40}, x), value_of(DType::f32, {40, 2}, w), value_of(DType::f64, {64}, near),
       value_of(DType::si64, {64}, whole), value_of(DType::f64, {64}, wide)}));
  programs.check();
  EXPECT_EQ(programs.compared, 1);
}

TEST(Codegen, OutputsMayBeTheMemoryOfInputs) {
  const auto program = ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[2], %1 y: f32[2]) {
  %2 = elementwise_binary(%0, %1) {op = add}: f32[2]
  return %1: f32[2], %0: f32[2], %2: f32[2]
})");
  ASSERT_TRUE(program) << program.error().text();
  std::vector<HostValue> tensors{value_of<float>(DType::f32, {2}, {1, 2}), value_of<float>(DType::f32, {2}, {3, 4}),
                                 value_of<float>(DType::f32, {2}, {0, 0})};
  CCode code;
  ASSERT_TRUE(code.add("swap", *program, std::span(tensors).first(2)));
  ASSERT_EQ(code.build(), "");
  ASSERT_EQ(code.call("swap", std::span(tensors).first(2), tensors), 0);
  EXPECT_TRUE(tensors[0].bytes == value_of<float>(DType::f32, {2}, {3, 4}).bytes);
  EXPECT_TRUE(tensors[1].bytes == value_of<float>(DType::f32, {2}, {1, 2}).bytes);
  EXPECT_TRUE(tensors[2].bytes == value_of<float>(DType::f32, {2}, {4, 6}).bytes);
}

TEST(Codegen, InputsAndLiteralsTakeNoRoomInTheArena) {
  const auto program = ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[16, 16], %1 flag: i1[]) {
  %2 = elementwise_binary(%0, f32[16, 16] x ")" +
                                   std::string(16 * 16 * 8, '1') + R"(") {op = add}: f32[16, 16]
  %3 = reshape(%0) {new_shape = [256]}: f32[256]
  %4 = slice(%3) {starts = [0], sizes = [16]}: f32[16]
  %5 = cond(%1, %4) {true_region = @1, false_region = @2}: f32[16]
  return %2: f32[16, 16], %5: f32[16]
}
region @1 literal(%0: f32[16]) {
  %1 = constant() {value = f32[16] x ")" +
                                   std::string(16 * 8, '1') + R"("}: f32[16]
  return %1: f32[16]
}
region @2 same(%0: f32[16]) {
  return %0: f32[16]
}
)");
  ASSERT_TRUE(program) << program.error().text();
  const ptir::Shape shapes[]{{16, 16}, {}};
  const auto text = engines::to_c(*program, shapes);
  ASSERT_TRUE(text) << text.error().text();
  // One result of 1024 bytes, one of 64, and an operand for each region.
  EXPECT_NE(text->view().find("_arena_bytes = 1216;"), std::string_view::npos)
      << text->view().substr(text->view().find("_arena_bytes = "), 40);
}

/// A program with one call of an element-wise kernel on operands of these types.
std::string call_of(const std::string& target, const std::string& attributes, const std::vector<std::string>& operands,
                    const std::string& result) {
  std::string parameters, names;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ", id = "%" + std::to_string(i);
    parameters += comma + id + ": " + operands[i];
    names += comma + id;
  }
  const std::string id = "%" + std::to_string(operands.size());
  return "spec_version = ptir.v0.4\nregion @0 main(" + parameters + ") {\n  " + id + " = custom_call(" + names +
         ") {target = \"zrt.onnx." + target + ".v1\", attrs = {" + attributes + "}}: " + result + "\n  return " + id +
         ": " + result + "\n}\n";
}
/// Numbers as elements of `dtype`.
HostValue elements_of(DType dtype, const std::vector<double>& numbers) {
  HostValue value{{dtype, {static_cast<std::uint32_t>(numbers.size())}}, {}};
  value.bytes.resize(bytes_of(dtype, numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    cast_elements(DType::f64, reinterpret_cast<const std::byte*>(numbers.data()), dtype, value.bytes.data(), i, 1);
  return value;
}

// The node tests of ONNX (tests/onnx/in_c.cpp) have few types and no edges.
TEST(Codegen, KernelsOfOnnxGiveWhatTheRunnerGives) {
  constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
  AgainstTheRunner programs;
  int count = 0;
  const auto add = [&](const std::string& text, const std::vector<HostValue>& inputs) {
    const auto program = ptir::parse(text);
    ASSERT_TRUE(program) << text << program.error().text();
    EXPECT_TRUE(programs.add("f" + std::to_string(count++), *program, inputs)) << text;
  };
  const std::vector<double> reals{0,    -0.0, 0.5,  -0.5,  1,    -1,    1.5,  -1.5, 2.5,   -2.5, 0.25,
                                  0.75, 3,    -4.0, 0.999, 1e-3, -1e-3, 7.25, kInf, -kInf, kNan, 20};
  const std::string n = std::to_string(reals.size());
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    const std::string type = std::string(name(dtype)) + "[" + n + "]";
    for (const char* target : {"sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
                               "sqrt", "floor", "ceil", "round"}) {
      add(call_of(target, "", {type}, type), {elements_of(dtype, reals)});
      // Those of circles reduce their operand by multiples of pi, which far away is another matter.
      if (std::string_view(target) == "sin" || std::string_view(target) == "cos" || std::string_view(target) == "tan")
        continue;
      const std::string few = std::string(name(dtype)) + "[10]";
      add(call_of(target, "", {few}, few),
          {elements_of(dtype, {1e200, -1e200, 710, -710, 709.5, -709.5, 3e8, -3e8, 4503599627370495.5, -1e-300})});
    }
    std::vector<double> others = reals;
    std::rotate(others.begin(), others.begin() + 5, others.end());
    for (const char* target : {"mod", "fmod", "pow"})
      add(call_of(target, "", {type, type}, type), {elements_of(dtype, reals), elements_of(dtype, others)});
    for (const char* flags :
         {"nan = true, positive = false, negative = false", "nan = false, positive = true, negative = true",
          "nan = false, positive = false, negative = false"})
      add(call_of("classify", flags, {type}, "i1[" + n + "]"), {elements_of(dtype, reals)});
  }
  const std::vector<double> a{7, -7, 7, -7, 100, -128, 0, 1, 3, 2, 127, 5}, b{3, 3, -3, -3, 7, -1, 5, 1, 64, 2, 1, 8};
  for (const DType dtype : {DType::si8, DType::ui8, DType::si16, DType::si32, DType::ui32, DType::si64, DType::ui64}) {
    const std::string type = std::string(name(dtype)) + "[12]";
    const std::vector<double> divisors =
        info(dtype).kind == DTypeKind::signed_integer ? b : std::vector<double>{3, 3, 2, 1, 7, 1, 5, 1, 64, 2, 1, 8};
    for (const char* target : {"mod", "fmod", "shift_left", "shift_right", "pow"})
      add(call_of(target, "", {type, type}, type), {elements_of(dtype, a), elements_of(dtype, divisors)});
    add(call_of("pow", "", {type, "f32[12]"}, type), {elements_of(dtype, a), elements_of(DType::f32, divisors)});
    // Data that breaks the contract ends both.
    add(call_of("mod", "", {type, type}, type), {elements_of(dtype, a), elements_of(dtype, std::vector<double>(12))});
    for (const char* order : {"exclusive = false, reverse = true", "exclusive = true, reverse = false"}) {
      HostValue cube = elements_of(dtype, a);
      cube.type.shape = {2, 3, 2};
      const std::string shape = std::string(name(dtype)) + "[2, 3, 2]";
      add(call_of("cum_sum", order, {shape}, shape), {cube});
    }
    HostValue rows = elements_of(dtype, a);
    rows.type.shape = {3, 4};
    add(call_of("row_product", "", {std::string(name(dtype)) + "[3, 4]"}, std::string(name(dtype)) + "[3]"), {rows});
  }
  programs.check();
  EXPECT_GE(programs.compared, count - programs.failed);
  EXPECT_EQ(programs.failed, 7);
}

TEST(Codegen, KernelsOfOnnxTakeNoOtherAttributesThanTheyHave) {
  const auto sin = ptir::parse(call_of("sin", "foo = 1", {"f32[2]"}, "f32[2]"));
  ASSERT_TRUE(sin) << sin.error().text();
  const std::vector<HostValue> inputs{value_of<float>(DType::f32, {2}, {1, 2})};
  const auto refused = CCode().add("f", *sin, inputs);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::invalid_params);
  EXPECT_EQ(refused.error().text(), "zrt.onnx.sin.v1 has no attribute foo");
}

TEST(Codegen, RefusesWhatItCannotSay) {
  const auto custom = ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[2]) {
  %1 = custom_call(%0) {target = "acme.scale.v1", attrs = {}}: f32[2]
  return %1: f32[2]
})");
  ASSERT_TRUE(custom) << custom.error().text();
  const std::vector<HostValue> inputs{value_of<float>(DType::f32, {2}, {1, 2})};
  const auto call = CCode().add("f", *custom, inputs);
  ASSERT_FALSE(call);
  EXPECT_EQ(call.error().code(), Errc::unimplemented);
  EXPECT_NE(call.error().text().find("acme.scale.v1"), std::string_view::npos) << call.error().text();
  // Nobody reads it, and it has no form all the same.
  const auto dead = ptir::parse(R"(spec_version = ptir.v0.4
region @0 main(%0 x: f32[2]) {
  %1 = custom_call(%0) {target = "acme.scale.v1", attrs = {}}: f32[2]
  return %0: f32[2]
})");
  ASSERT_TRUE(dead) << dead.error().text();
  const auto unread = CCode().add("f", *dead, inputs);
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().code(), Errc::unimplemented);
  // A known target refuses what it does not take.
  const auto wrong = ptir::parse(call_of("sin", "", {"si32[2]"}, "si32[2]"));
  ASSERT_TRUE(wrong) << wrong.error().text();
  const auto refused =
      CCode().add("f", *wrong, std::vector<HostValue>{value_of<std::int32_t>(DType::si32, {2}, {1, 2})});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::invalid_params);
  EXPECT_EQ(refused.error().text(), "zrt.onnx.sin.v1: x and y must be floats of one type and shape");
  const auto plain = ptir::parse("spec_version = ptir.v0.4\nregion @0 main(%0: f32[2]) {\n  return %0: f32[2]\n}");
  ASSERT_TRUE(plain);
  for (const char* name : {"", "1st", "a-b"}) {
    const auto named = CCode().add(name, *plain, inputs);
    ASSERT_FALSE(named) << name;
    EXPECT_EQ(named.error().code(), Errc::invalid_argument);
  }
}

}  // namespace
}  // namespace codegen_test
