// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_text.cpp: the text form: exact round trips, errors with their place, hostile input.
// test-set: smoke brief
#include <zrt/ir/ptir/dot.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <support/random_program.hpp>

namespace ptir_text_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace ptir = zrt::ir::ptir;

constexpr std::string_view kSample = R"(spec_version = ptir.v0.4

region @0 main(%0 x: f32[?N, 4], %7 "two words": i1[]) {
  %9 w = constant() {value = f32[4, 2] {0.0, -0.0, 1.5, inf, -inf, 0x7fc00001, 1e-45, 0.1}}: f32[4, 2]
  %3 = dot_general(%0, %9) {batch_lhs = [], batch_rhs = [], contract_lhs = [-1], contract_rhs = [0], accum_dtype = f64}: f32[?N, 2]
  %4 = top_k(%3) {k = 1, axis = -1, largest = true, indices_dtype = si64}: tuple<f32[?N, 1], si64[?N, 1]>
  %5 = custom_call(%4[1], si4[3] {-8, 7, 1}) {target = "a.b.v1", attrs = {k = [1.0, 2.5], "odd key" = true}}: f16[?]
  %6 = cond(%7, %5) {true_region = @1, false_region = @1}: f16[?]
  return %6: f16[?], %4[0]: f32[?N, 1]
}

region @1 same(%0: f16[?]) {
  return %0: f16[?]
}
)";

std::string printed(const ptir::Program& program) {
  const auto text = ptir::print(program);
  return text ? std::string(text->view()) : "error: " + std::string(text.error().text());
}

ptir::Program parsed(std::string_view text) {
  auto program = ptir::parse(text);
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : ptir::Program();
}

/// The error that `text` gives: code, and every piece of its text.
void expect_error(std::string_view text, Errc code, std::initializer_list<std::string_view> pieces) {
  const auto program = ptir::parse(text);
  ASSERT_FALSE(program) << text;
  EXPECT_EQ(name(program.error().code()), name(code)) << program.error().text();
  EXPECT_LE(program.error().offset(), text.size());
  for (const std::string_view piece : pieces)
    EXPECT_NE(program.error().text().find(piece), std::string_view::npos) << piece << " in: " << program.error().text();
}

/// The sample with `from` replaced.
std::string edited(std::string_view from, std::string_view to) {
  std::string text(kSample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

TEST(PtirText, PrintsWhatItReads) {
  const auto program = parsed(kSample);
  EXPECT_EQ(printed(program), kSample);
  EXPECT_TRUE(ptir::verify(program)) << ptir::verify(program).error().text();
  EXPECT_TRUE(program == parsed(printed(program)));
}

TEST(PtirText, SpacesAndCommentsDoNotCount) {
  std::string spread;
  for (const char c : kSample) {
    spread += c;
    if (c == ',' || c == '{') spread += " // a comment, with \"signs\" %7\r\n\t";
  }
  EXPECT_TRUE(parsed(spread) == parsed(kSample));
}

TEST(PtirText, EqualityNoticesEveryDifference) {
  const auto sample = parsed(kSample);
  for (const auto& [from, to] : std::initializer_list<std::pair<std::string_view, std::string_view>>{
           {"main(", "other("},
           {"%0 x:", "%0 y:"},
           {"%0 x:", "%1 x:"},
           {"x: f32[?N", "x: f16[?N"},
           {"x: f32[?N", "x: f32[?M"},
           {"x: f32[?N", "x: f32[?"},
           {"%9 w", "%9"},
           {"-0.0", "0.0"},
           {"f32[4, 2] {", "f32[2, 4] {"},
           {"= dot_general(%0, %9)", "= dot_general(%9, %0)"},
           {"contract_rhs = [0]", "contract_rhs = [1]"},
           {"contract_rhs = [0]", "contract_rhs = []"},
           {"accum_dtype = f64", "accum_dtype = f32"},
           {", accum_dtype = f64", ""},
           {"k = 1", "k = 2"},
           {"largest = true", "largest = false"},
           {"tuple<f32[?N, 1], si64[?N, 1]>", "tuple<f32[?N, 1]>"},
           {"tuple<f32[?N, 1], si64[?N, 1]>", "f32[?N, 1]"},
           {"%4[1]", "%4[0]"},
           {"%4[1]", "%4"},
           {"{-8, 7, 1}", "{-8, 7, 2}"},
           {"a.b.v1", "a.b.v2"},
           {"k = [1.0, 2.5]", "k = [1.0, 2.0]"},
           {"k = [1.0, 2.5]", "k = [1, 2]"},
           {"k = [1.0, 2.5]", "l = [1.0, 2.5]"},
           {"\"odd key\" = true", "\"odd key\" = \"t\""},
           {"true_region = @1", "true_region = @0"},
           {"return %6: f16[?], ", "return "},
           {"%4[0]: f32[?N, 1]", "%4[0]: f32[?N, 2]"}}) {
    EXPECT_FALSE(sample == parsed(edited(from, to))) << from << " " << to;
  }
  auto other = parsed(kSample);
  other.regions[0].instructions[4].opcode = ops::Scan::opcode;
  EXPECT_FALSE(sample == other);
  EXPECT_TRUE(sample == parsed(edited("k = [1.0, 2.5]", "k = [1.00, 25e-1]")));
}

TEST(PtirText, NamesThatAreNoIdentifiersAreQuoted) {
  ptir::Builder b;
  for (const std::string_view name : {"a.b_2", "2a", ".a", "a b", "\x01\x7f\n\"\\\xc3\xa9"})
    (void)b.parameter({DType::f32, {b.dim(name)}}, name);
  const auto program = b.finish();
  ASSERT_TRUE(program);
  const std::string text = printed(*program);
  for (const std::string_view piece :
       {"%0 a.b_2: f32[?a.b_2]", "%1 \"2a\": f32[?\"2a\"]", "\".a\"", "\"a b\"", "\"\\x01\\x7f\\n\\\"\\\\\xc3\xa9\""})
    EXPECT_NE(text.find(piece), std::string::npos) << piece << " in: " << text;
  EXPECT_TRUE(parsed(text) == *program);
}

TEST(PtirText, RandomProgramsRoundTrip) {
  std::set<std::uint8_t> seen;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const auto program = random_program(seed, 12);
    ASSERT_TRUE(program) << seed << ": " << program.error().text();
    for (const ptir::Region& region : program->regions)
      for (const ptir::Instruction& i : region.instructions) seen.insert(number(i.opcode));
    const std::string text = printed(*program);
    const auto again = ptir::parse(text);
    ASSERT_TRUE(again) << again.error().text() << "\n" << text;
    EXPECT_TRUE(*program == *again) << text;
    EXPECT_EQ(printed(*again), text);
    EXPECT_TRUE(ptir::verify(*again)) << ptir::verify(*again).error().text();
  }
  EXPECT_EQ(seen.size(), ptir::kOps.size()) << "the generator leaves out an operation";
}

TEST(PtirText, EveryElementKeepsItsBits) {
  for (std::uint8_t d = 0; d <= static_cast<std::uint8_t>(DType::cf64); ++d) {
    const auto dtype = static_cast<DType>(d);
    const ptir::ElementForm form = ptir::element_form(dtype);
    const unsigned width = form.nibbles * 4u;
    const auto round_trip = [&](std::uint64_t bits) {
      String text;
      ASSERT_TRUE(ptir::append_part(text, form, bits));
      const auto back = ptir::parse_part(form, text.view());
      ASSERT_TRUE(back) << name(dtype) << " " << text.view();
      EXPECT_EQ(*back, bits) << name(dtype) << " " << text.view();
    };
    if (dtype == DType::i1) {
      round_trip(0);
      round_trip(1);
    } else if (width <= 16) {
      for (std::uint64_t bits = 0; bits >> width == 0; ++bits) round_trip(bits);
    } else {
      std::mt19937_64 random(d);
      for (int i = 0; i < 2000; ++i) round_trip(random() >> (64 - width));
      for (const std::uint64_t bits : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}, std::uint64_t{1} << 63})
        round_trip(bits >> (64 - width));
    }
  }
}

TEST(PtirText, NumbersOutsideADtypeAreRefused) {
  const auto refused = [](DType dtype, std::string_view text) {
    EXPECT_FALSE(ptir::parse_part(ptir::element_form(dtype), text)) << name(dtype) << " " << text;
  };
  refused(DType::si4, "8");
  refused(DType::si4, "-9");
  refused(DType::ui4, "16");
  refused(DType::ui8, "-1");
  refused(DType::si64, "9223372036854775808");
  refused(DType::ui64, "18446744073709551616");
  refused(DType::i1, "2");
  refused(DType::f32, "1e39");
  refused(DType::f16, "65520");
  refused(DType::fp8_e4m3, "465");
  refused(DType::fp8_e4m3, "inf");
  refused(DType::fp8_e5m2, "0x100");
  refused(DType::f32, "nan");
  refused(DType::f32, "infinity");
  refused(DType::f32, "1.0f");
  EXPECT_EQ(ptir::parse_part(ptir::element_form(DType::fp8_e5m2), "-inf"), 0xfcu);
  EXPECT_EQ(ptir::parse_part(ptir::element_form(DType::f16), "0.1"), 0x2e66u);
}

TEST(PtirText, AnyOtherVersionIsRefused) {
  expect_error(edited("ptir.v0.4", "ptir.v0.3"), Errc::unsupported_version, {"ptir.v0.3", "expected ptir.v0.4"});
  expect_error(edited("ptir.v0.4", "ptir.v0.40"), Errc::unsupported_version, {"ptir.v0.40"});
  expect_error(edited("spec_version = ptir.v0.4", ""), Errc::invalid_file, {"expected spec_version, found region"});
}

TEST(PtirText, ErrorsNamePlaceExpectedAndFound) {
  expect_error(edited("%9 w = constant", "%9 w = konstant"), Errc::invalid_file,
               {"line 4, column 10: expected an operation, found konstant"});
  expect_error(edited("k = 1, ", ""), Errc::invalid_file, {"line 6", "the attribute k of top_k"});
  expect_error(edited("k = 1, ", "k = 1, k = 2, "), Errc::duplicate_name, {"line 6", "top_k has k twice"});
  expect_error(edited("k = 1, ", "q = 1, "), Errc::invalid_file, {"expected an attribute of top_k, found q"});
  expect_error(edited("largest = true", "largest = maybe"), Errc::invalid_file, {"true or false, found maybe"});
  expect_error(edited("\"odd key\" = true", "k = true"), Errc::duplicate_name, {"attrs has k twice"});
  expect_error(edited("f32[4, 2] {0.0", "f32[4, 2] {0.0, 1.0"), Errc::invalid_file,
               {"expected 8 elements, found more"});
  expect_error(edited("f32[4, 2] {0.0, ", "f32[4, 2] {"), Errc::invalid_file, {"expected 8 elements, found 7"});
  expect_error(edited("{-8, 7, 1}", "{-9, 7, 1}"), Errc::invalid_file, {"a number that fits si4, found -9"});
  expect_error(edited("{-8, 7, 1}", "x\"123\""), Errc::invalid_file, {"expected 2 bytes, found 1"});
  expect_error(edited("{-8, 7, 1}", "x\"12g4\""), Errc::invalid_file, {"hexadecimal digits"});
  expect_error(edited("si4[3]", "si4[?]"), Errc::invalid_file, {"a literal's extents must be constants"});
  expect_error(edited("region @1 same", "region @2 same"), Errc::invalid_file, {"expected region @1, found @2"});
  expect_error(edited("f32[?N, 4]", "f32[1, 1, 1, 1, 1, 1, 1, 1, 1]"), Errc::unsupported_tensor_rank, {"line 3"});
  expect_error(edited("f32[?N, 4]", "q8_0[?N, 4]"), Errc::invalid_file, {"expected a dtype, found q8_0"});
  expect_error(edited("f32[?N, 4]", "f32[?N, -1]"), Errc::invalid_file, {"an extent is -1"});
  expect_error(edited("\"odd key\"", "\"odd\\q\""), Errc::invalid_file, {"after a backslash"});
  expect_error(edited("same(", std::string(95, 'a') + "("), Errc::limit_exceeded, {"a name has 95 characters"});
  expect_error(kSample.substr(0, kSample.size() - 3), Errc::truncated_file, {"found the end"});
  expect_error("spec_version = ptir.v0.4", Errc::truncated_file, {"expected region"});
}

TEST(PtirText, SizesThatDoNotFitAreErrors) {
  expect_error(edited("si4[3] {-8, 7, 1}", "f32[4611686018427387904, 4] {}"), Errc::size_overflow, {"64 bits"});
  // A literal takes memory by what is written, not by what its type promises.
  expect_error(edited("si4[3] {-8, 7, 1}", "f32[1000000000000] {1.0}"), Errc::invalid_file, {"found 1"});
  expect_error(edited("%9 w", "%99999999999 w"), Errc::invalid_file, {"a value id"});
}

/// Whatever the bytes are, the reader gives an error with a text, or a program that prints and verifies
/// or is refused.
void expect_survives(std::string_view text) {
  const auto program = ptir::parse(text);
  if (!program) {
    EXPECT_FALSE(program.error().text().empty());
    EXPECT_LE(program.error().offset(), text.size());
    return;
  }
  const std::string again = printed(*program);
  EXPECT_TRUE(parsed(again) == *program) << again;
  const auto verified = ptir::verify(*program);
  EXPECT_TRUE(verified || !verified.error().text().empty());
}

TEST(PtirText, EveryTruncationIsAnErrorOrAProgram) {
  for (std::size_t size = 0; size < kSample.size(); ++size) expect_survives(kSample.substr(0, size));
}

TEST(PtirText, EveryChangedByteIsAnErrorOrAProgram) {
  static constexpr std::string_view kBytes = "0%@{]\"\\-?\n\xff";
  std::string text(kSample);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char kept = text[at];
    for (const char byte : kBytes) {
      text[at] = byte;
      expect_survives(text);
    }
    text[at] = '\0';
    expect_survives(text);
    text[at] = kept;
  }
}

TEST(PtirText, MemoryThatRunsOutIsAnError) {
  struct Budget {
    std::size_t left;
  };
  bool succeeded = false;
  for (std::size_t allocations = 0; !succeeded; ++allocations) {
    ASSERT_LT(allocations, 1000u);
    Budget budget{allocations};
    Allocator small = system_allocator();
    small.context = &budget;
    small.allocate = [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
      auto& b = *static_cast<Budget*>(context);
      return b.left-- == 0 ? (b.left = 0, nullptr) : system_allocator().allocate(nullptr, bytes, alignment);
    };
    const auto program = ptir::parse(kSample, small);
    if (!program) {
      EXPECT_EQ(name(program.error().code()), name(Errc::out_of_memory)) << program.error().text();
      continue;
    }
    const auto verified = ptir::verify(*program);
    const auto text = ptir::print(*program);
    succeeded = verified && text;
    for (const Error& error : {verified ? Error() : verified.error(), text ? Error() : text.error()})
      EXPECT_TRUE(error.code() == Errc::ok || error.code() == Errc::out_of_memory) << error.text();
  }
}

TEST(PtirText, DrawsRegionsValuesAndEdges) {
  const auto dot = ptir::to_dot(parsed(kSample));
  ASSERT_TRUE(dot);
  const std::string_view text = dot->view();
  for (const std::string_view piece :
       {"digraph ptir {", "subgraph cluster_0 {", "label=\"@1 same\"", "label=\"%7 \\\"two words\\\"\ni1[]\"",
        "r0v0 -> r0v3 [label=\"0\"]", "r0v4 -> r0v5 [label=\"0: [1]\"]", "r0v5c1 -> r0v5 [label=\"1\"]",
        "r0v6 -> r0return [label=\"0\"]", "r0v6 -> r1return [style=dashed]"})
    EXPECT_NE(text.find(piece), std::string_view::npos) << piece << " in:\n" << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '{') - std::count(text.begin(), text.end(), '}'), 0);
}

}  // namespace
}  // namespace ptir_text_test
