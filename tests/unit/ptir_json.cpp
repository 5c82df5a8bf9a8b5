// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_json.cpp: the JSON form: exact round trips, typed errors, hostile input.
#include <zrt/ir/ptir/json.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <support/random_program.hpp>

namespace ptir_json_test {
namespace {

using namespace zrt;
using namespace zrt::test;
namespace ptir = zrt::ir::ptir;

constexpr std::string_view kSample = R"({"spec_version":"ptir.v0.4","regions":[
{"name":"main","parameters":[{"id":0,"name":"x","type":{"dtype":"f32","shape":["?N",4,"?"]}}],
"instructions":[
{"id":5,"op":"reduce","operands":[{"value":0}],"attributes":{"kind":"sum","axes":[-1],"keepdims":false,"out_dtype":"f64"},
"output":{"dtype":"f64","shape":["?N",4]}},
{"id":2,"name":"call","op":"custom_call","operands":[{"literal":{"dtype":"f32","shape":[2],"data":"0000803f0000c07f"}}],
"attributes":{"target":"a.b.v1","attrs":{"one":1,"real":1.0,"inf":{"real":"inf"},"list":[0.5,{"real":"-inf"}],"none":[],"t":"é"}},
"output":{"tuple":[{"dtype":"i1","shape":[]}]}}],
"results":[{"operand":{"tuple":2,"element":0},"type":{"dtype":"i1","shape":[]}}]}]})";

ptir::Program parsed(std::string_view text) {
  auto program = ptir::parse_json(text);
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : ptir::Program();
}

std::string edited(std::string_view from, std::string_view to) {
  std::string text(kSample);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

void expect_error(std::string_view text, Errc code, std::initializer_list<std::string_view> pieces) {
  const auto program = ptir::parse_json(text);
  ASSERT_FALSE(program) << text;
  EXPECT_EQ(name(program.error().code()), name(code)) << program.error().text();
  for (const std::string_view piece : pieces)
    EXPECT_NE(program.error().text().find(piece), std::string_view::npos) << piece << " in: " << program.error().text();
}

TEST(PtirJson, WritesWhatItReads) {
  const auto program = parsed(kSample);
  EXPECT_TRUE(ptir::verify(program)) << ptir::verify(program).error().text();
  const auto json = ptir::to_json(program);
  ASSERT_TRUE(json) << json.error().text();
  std::string without_lines(kSample);
  std::erase(without_lines, '\n');
  EXPECT_EQ(json->dump(), without_lines);
}

TEST(PtirJson, RandomProgramsRoundTrip) {
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const auto program = random_program(seed, 12);
    ASSERT_TRUE(program) << seed << ": " << program.error().text();
    const auto json = ptir::to_json(*program);
    ASSERT_TRUE(json) << json.error().text();
    const auto again = ptir::parse_json(json->dump());
    ASSERT_TRUE(again) << again.error().text() << "\n" << json->dump(1);
    EXPECT_TRUE(*program == *again) << seed;
    EXPECT_TRUE(ptir::verify(*again)) << ptir::verify(*again).error().text();
    // Both forms say the same.
    const auto text = ptir::print(*again);
    ASSERT_TRUE(text);
    const auto from_text = ptir::parse(text->view());
    ASSERT_TRUE(from_text);
    EXPECT_EQ(*ptir::to_json(*from_text), *json) << seed;
  }
}

TEST(PtirJson, RealsKeepTheirBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    const auto bits = random();
    ptir::Builder b;
    const auto x = b.parameter({DType::f64, {1}});
    const std::array<double, 1> one{std::bit_cast<double>(bits)};
    (void)b.custom_call("a.b.v1", {x}, {b.entry("k", b.reals(one)), b.entry("r", ptir::Attribute::real(one[0]))}, {},
                        true);
    const auto made = b.finish();
    ASSERT_TRUE(made);
    const auto again = ptir::parse_json(ptir::to_json(*made)->dump());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_TRUE(*made == *again) << std::hex << bits;
  }
}

TEST(PtirJson, AnyOtherVersionIsRefused) {
  expect_error(edited("ptir.v0.4", "ptir.v0.5"), Errc::unsupported_version, {"ptir.v0.5", "expected ptir.v0.4"});
  expect_error(edited("\"spec_version\":\"ptir.v0.4\",", ""), Errc::invalid_file, {"no member spec_version"});
  expect_error(edited("\"ptir.v0.4\"", "4"), Errc::invalid_file, {"expected ptir.v0.4, found 4"});
}

TEST(PtirJson, ErrorsNamePlaceExpectedAndFound) {
  expect_error("[", Errc::invalid_file, {"line 1, column 2", "ends within JSON"});
  expect_error("{\"a\": 1,\n x}", Errc::invalid_file, {"line 2, column 2", "not JSON"});
  expect_error(edited("\"op\":\"reduce\"", "\"op\":\"reduced\""), Errc::invalid_file,
               {"region 0, instruction 0: expected an operation, found \"reduced\""});
  expect_error(edited("\"kind\":\"sum\",", ""), Errc::invalid_file, {"expected the attribute kind of reduce"});
  expect_error(edited("\"kind\":\"sum\"", "\"kind\":\"mean\""), Errc::invalid_file, {"one of the names of kind"});
  expect_error(edited("\"keepdims\"", "\"keep\""), Errc::invalid_file, {"reduce has no attribute keep"});
  expect_error(edited("\"keepdims\":false", "\"axes\":[]"), Errc::duplicate_name, {"axes twice"});
  expect_error(edited("\"id\":5", "\"id\":-5"), Errc::invalid_file, {"expected a value id, found -5"});
  expect_error(edited("\"id\":5", "\"id\":4294967296"), Errc::invalid_file, {"expected a value id"});
  expect_error(edited("\"id\":5", "\"id\":5,\"more\":1"), Errc::invalid_file,
               {"an instruction has an unknown member more"});
  expect_error(edited("\"?N\",4,\"?\"", "\"?N\",-1"), Errc::invalid_file, {"an extent of 0 or more, found -1"});
  expect_error(edited("\"?N\",4,\"?\"", "1,1,1,1,1,1,1,1,1"), Errc::unsupported_tensor_rank, {"9 axes"});
  expect_error(edited("\"dtype\":\"f32\"", "\"dtype\":\"q4_k\""), Errc::invalid_file, {"a dtype, found \"q4_k\""});
  expect_error(edited("c07f\"", "c0\""), Errc::invalid_file, {"14 hexadecimal digits", "8 bytes"});
  expect_error(edited("c07f\"", "c0zz\""), Errc::invalid_file, {"expected hexadecimal digits"});
  expect_error(edited("\"one\":1", "\"one\":null"), Errc::invalid_file, {"a number, a boolean, a string or a list"});
  expect_error(edited("[0.5,", "[0.5,true,"), Errc::invalid_file, {"a real number, found true"});
  expect_error(edited("\"one\":1", "\"one\":9223372036854775808"), Errc::invalid_file, {"an integer"});
  expect_error(edited("\"name\":\"call\"", "\"name\":\"" + std::string(95, 'n') + "\""), Errc::limit_exceeded,
               {"a name has 95 characters"});
  std::string many = "{";
  for (int i = 0; i < 300; ++i) many += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":1";
  expect_error(edited("{\"one\":1", many), Errc::limit_exceeded, {"an object has more than 256 members"});
}

TEST(PtirJson, WhatJsonCannotHoldIsAnError) {
  ptir::Builder b;
  (void)b.parameter({DType::f32, {}}, "\xff");
  const auto program = b.finish();
  ASSERT_TRUE(program);
  const auto json = ptir::to_json(*program);
  ASSERT_FALSE(json);
  EXPECT_EQ(name(json.error().code()), name(Errc::invalid_argument));
  for (const std::string_view bad :
       {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xf8\x88\x80\x80\x80"})
    EXPECT_FALSE(ptir::detail::is_utf8(bad));
  for (const std::string_view good : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(ptir::detail::is_utf8(good));
}

/// Whatever the bytes are: an error with a text, or a program that can be written again.
void expect_survives(std::string_view text) {
  const auto program = ptir::parse_json(text);
  if (!program) {
    EXPECT_FALSE(program.error().text().empty());
    return;
  }
  const auto json = ptir::to_json(*program);
  ASSERT_TRUE(json) << json.error().text();
  const auto again = ptir::from_json(*json);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_TRUE(*again == *program) << text;
  (void)ptir::verify(*program);
}

TEST(PtirJson, EveryTruncationIsAnErrorOrAProgram) {
  for (std::size_t size = 0; size < kSample.size(); ++size) expect_survives(kSample.substr(0, size));
}

TEST(PtirJson, EveryChangedByteIsAnErrorOrAProgram) {
  static constexpr std::string_view kBytes = "0{\"-?\x80";
  std::string text(kSample);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char kept = text[at];
    for (const char byte : kBytes) {
      text[at] = byte;
      expect_survives(text);
    }
    text[at] = kept;
  }
}

TEST(PtirJson, DepthCostsNoStack) {
  std::string deep(200000, '[');
  expect_error(deep, Errc::limit_exceeded, {"nested more than 64 deep"});
  deep.append(200000, ']');
  expect_error(deep, Errc::limit_exceeded, {"nested more than 64 deep"});
  // Members that come after it move it.
  expect_error(R"({"spec_version":)" + deep + R"(,"a":1,"b":2,"c":3,"d":4,"e":5})", Errc::limit_exceeded, {"64 deep"});
}

}  // namespace
}  // namespace ptir_json_test
