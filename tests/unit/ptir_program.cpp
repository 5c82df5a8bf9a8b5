// SPDX-License-Identifier: Apache-2.0
// tests/unit/ptir_program.cpp: the program's pools and the builder: types, broadcasts, regions, the first error.
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <string>

namespace ptir_program_test {
namespace {

using namespace zrt;
namespace ptir = zrt::ir::ptir;
using ptir::Dim;

/// The builder's first error: code and a piece of its text.
void expect_error(ptir::Builder& b, Errc code, std::string_view piece) {
  const auto program = b.finish();
  ASSERT_FALSE(program) << piece;
  EXPECT_EQ(name(program.error().code()), name(code)) << program.error().text();
  EXPECT_NE(program.error().text().find(piece), std::string_view::npos) << piece << " in: " << program.error().text();
}

TEST(PtirProgram, ListsEveryOperationOnce) {
  static_assert(ptir::kOps.size() == 102 - 64 + 1);
  for (std::size_t i = 0; i < ptir::kOps.size(); ++i) {
    EXPECT_EQ(number(ptir::kOps[i].opcode), 64 + i);
    EXPECT_EQ(ptir::find_op(ptir::kOps[i].name), &ptir::kOps[i]);
    EXPECT_EQ(ptir::find_op(ptir::kOps[i].opcode), &ptir::kOps[i]);
    for (const ptir::AttributeField& field : ptir::kOps[i].fields())
      EXPECT_EQ(field.choices.empty(), field.kind != ptir::AttributeKind::choice) << field.name;
  }
  EXPECT_EQ(ptir::find_op(Opcode{63}), nullptr);
  EXPECT_EQ(ptir::find_op(Opcode{103}), nullptr);
}

TEST(PtirProgram, DimsAreConstantsSymbolsOrUnknown) {
  EXPECT_TRUE(Dim(0).is_constant() && Dim(INT64_MAX).is_constant());
  EXPECT_EQ(Dim(INT64_MAX).constant(), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_TRUE(Dim(-1).is_inferred() && !Dim(-1).is_dynamic() && !Dim(-1).is_constant());
  EXPECT_TRUE(Dim::any().is_any() && Dim::any().is_dynamic() && !Dim::any().is_symbol());
  EXPECT_EQ(Dim::of_symbol(7).symbol(), 7u);
  EXPECT_TRUE(Dim::of_symbol(0).is_symbol() && Dim::of_symbol(0).is_dynamic());
  EXPECT_EQ(Dim::from_code(Dim::of_symbol(~0u).code()).symbol(), ~0u);
}

TEST(PtirProgram, NamesOfExtentsAreKeptOnceAndCounted) {
  ptir::Program program;
  EXPECT_EQ(*program.dim("a"), *program.dim("a"));
  EXPECT_NE(*program.dim("a"), *program.dim("b"));
  EXPECT_EQ(program.symbols.size(), 2u);
  EXPECT_EQ(program.symbol_name(*program.dim("b")), "b");
  EXPECT_EQ(program.dim("").error().code(), Errc::invalid_argument);
  EXPECT_EQ(program.dim(std::string(95, 'x')).error().code(), Errc::invalid_argument);
  for (std::size_t i = 2; i < ptir::kMaxSymbolNames; ++i) ASSERT_TRUE(program.dim("s" + std::to_string(i)));
  EXPECT_EQ(program.dim("one more").error().code(), Errc::limit_exceeded);
  EXPECT_TRUE(program.dim("s9"));
}

TEST(PtirProgram, RangesThatLeaveTheirPoolsReadAsEmpty) {
  ptir::Program program;
  ASSERT_TRUE(program.add_text("text"));
  for (const ptir::PoolRange range :
       {ptir::PoolRange{4, 1}, ptir::PoolRange{5, 0}, ptir::PoolRange{1, ~0u}, ptir::PoolRange{~0u, ~0u}})
    EXPECT_EQ(program.text(range), "");
  EXPECT_EQ(program.text({1, 3}), "ext");
  EXPECT_TRUE(program.bytes_of({{}, 1, 1}).empty());
  EXPECT_TRUE(program.bytes_of({{}, ~std::uint64_t{0}, 2}).empty());
  EXPECT_EQ(program.literal(0), nullptr);
}

TEST(PtirBuilder, InsertsTheBroadcastsThatTheIrDemands) {
  ptir::Builder b;
  const Dim n = b.dim("N");
  const auto x = b.parameter({DType::f32, {n, 1, 4}});
  const auto y = b.parameter({DType::f32, {3, 1}});
  EXPECT_EQ((x + y).shape(), (ptir::Shape{n, 3, 4}));
  EXPECT_EQ(b.lt(x, y).type(), (ptir::TensorType{DType::i1, {n, 3, 4}}));
  EXPECT_EQ(b.select(b.constant(true), x, y).shape(), (ptir::Shape{n, 3, 4}));
  EXPECT_EQ(b.clamp(x, b.scalar(DType::f32, 0), b.scalar(DType::f32, 6)).shape(), x.shape());
  EXPECT_EQ((2.0 * x).shape(), x.shape());
  EXPECT_EQ(b.softmax(x).shape(), x.shape());
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().text();
}

TEST(PtirBuilder, NeverConvertsADtype) {
  ptir::Builder b;
  (void)(b.parameter({DType::f16, {2}}) + b.constant(1.0f));
  expect_error(b, Errc::dtype_mismatch, "operand rhs is f32[2], expected f16[2]");
}

TEST(PtirBuilder, KeepsTheFirstError) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {2}});
  const auto y = b.reshape(x, {3});
  (void)b.transpose(y, {5});
  b.result(b.cast(y, DType::f16));
  EXPECT_TRUE(b.failed());
  expect_error(b, Errc::shape_mismatch, "reshape: operand x is f32[2], expected 3 elements");
}

TEST(PtirBuilder, KeepsRegionsApart) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {}});
  (void)b.region("inner", [&] { b.result(b.neg(x)); });
  expect_error(b, Errc::invalid_argument, "value %0 belongs to another region, expected one of @1");

  ptir::Builder c;
  const auto y = c.parameter({DType::f32, {}});
  const auto pred = c.parameter({DType::i1, {}});
  const auto twice = c.region("twice", [&] {
    const auto p = c.parameter({DType::f32, {}}, "p");
    c.result(p * 2.0);
  });
  const auto both = c.cond(pred, twice, twice, {y});
  ASSERT_EQ(both.size(), 1u);
  c.result(c.name(both[0], "doubled"));
  const auto program = c.finish();
  ASSERT_TRUE(program) << program.error().text();
  EXPECT_EQ(program->regions.size(), 2u);
  EXPECT_EQ(program->regions[0].instructions.size(), 1u);
  EXPECT_EQ(program->regions[0].instructions[0].name, Name("doubled"));
  EXPECT_EQ(program->regions[1].name, Name("twice"));
}

TEST(PtirBuilder, ATensorOfAnotherBuilderIsRefused) {
  ptir::Builder a, b;
  const auto x = a.parameter({DType::f32, {}});
  b.result(x);
  expect_error(b, Errc::invalid_argument, "belongs to another region");
}

TEST(PtirBuilder, ResultsAreCounted) {
  ptir::Builder b;
  const auto best = b.top_k(b.parameter({DType::f32, {4}}), 2);
  EXPECT_EQ(best.size(), 2u);
  EXPECT_EQ(best[1].type(), (ptir::TensorType{DType::si32, {2}}));
  (void)best[2];
  expect_error(b, Errc::invalid_argument, "result 2 is asked for, expected less than 2");
}

TEST(PtirBuilder, ScalarsFitTheirDtype) {
  for (const auto& [dtype, value] : {std::pair{DType::si4, 8.0},
                                     {DType::ui8, -1.0},
                                     {DType::f16, 1e6},
                                     {DType::i1, 2.0},
                                     {DType::si64, 1e19},
                                     {DType::q8_0, 0.0}}) {
    ptir::Builder b;
    (void)b.scalar(dtype, value);
    expect_error(b, Errc::invalid_params, "a scalar is no number of");
  }
  ptir::Builder b;
  for (const auto& [dtype, value] : {std::pair{DType::si4, -8.0}, {DType::fp8_e4m3, 448.0}, {DType::f16, 0.1}})
    b.result(b.scalar(dtype, value));
  const auto program = b.finish();
  ASSERT_TRUE(program);
  const auto text = ptir::print(*program);
  ASSERT_TRUE(text);
  EXPECT_NE(text->view().find("return si4[] {-8}: si4[], fp8_e4m3[] {448.0}: fp8_e4m3[], f16[] {0.0999755"),
            std::string_view::npos)
      << text->view();
}

TEST(PtirBuilder, LiteralsHaveTheBytesOfTheirTypes) {
  ptir::Builder b;
  const std::array<float, 3> three{};
  (void)b.constant({2}, three);
  expect_error(b, Errc::shape_mismatch, "a literal has 12 bytes, expected 8");
  ptir::Builder c;
  (void)c.pad(c.parameter({DType::f32, {2}}), {0}, {0}, {0}, c.constant(0.0f));
  expect_error(c, Errc::invalid_argument, "pad: value is computed, expected a literal");
}

TEST(PtirBuilder, OpsByNameAreCheckedAgainstTheTable) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {}});
  (void)b.emit("softmax", ptir::Tensors(&x, 1), {});
  expect_error(b, Errc::unsupported_opcode, "softmax is no operation");
  ptir::Builder c;
  const auto y = c.parameter({DType::f32, {}});
  (void)c.emit("cast", ptir::Tensors(&y, 1), {});
  expect_error(c, Errc::invalid_params, "cast has 0 attributes, expected 1");
}

TEST(PtirBuilder, MemoryThatRunsOutIsAnError) {
  struct Budget {
    std::size_t left;
  };
  bool succeeded = false;
  for (std::size_t allocations = 0; !succeeded; ++allocations) {
    ASSERT_LT(allocations, 2000u);
    Budget budget{allocations};
    Allocator small = system_allocator();
    small.context = &budget;
    small.allocate = [](void* context, std::size_t bytes, std::size_t alignment) noexcept -> void* {
      auto& b = *static_cast<Budget*>(context);
      return b.left-- == 0 ? (b.left = 0, nullptr) : system_allocator().allocate(nullptr, bytes, alignment);
    };
    ptir::Builder b(small);
    const auto x = b.parameter({DType::f32, {b.dim("N"), 4}});
    const auto same = b.region("same", [&] { b.result(b.parameter(x.type())); });
    b.result(b.cond(b.constant(true), same, same, {b.softmax(x * 0.5)})[0]);
    (void)b.custom_call("a.b.v1", {x}, {b.entry("k", b.string("v"))}, {x.type()}, false);
    const auto program = b.finish();
    succeeded = program.has_value();
    if (!program) {
      EXPECT_EQ(name(program.error().code()), name(Errc::out_of_memory)) << program.error().text();
    }
  }
}

}  // namespace
}  // namespace ptir_program_test
