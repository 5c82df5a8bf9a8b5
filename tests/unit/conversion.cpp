// SPDX-License-Identifier: Apache-2.0
// tests/unit/conversion.cpp: walking programs, what stands in the way of a conversion, names, and memory before binding.
#include <zrt/ir/ptir/text.hpp>
#include <zrt/plan/conversion.hpp>
#include <zrt/plan/plan_buffers.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace conversion_test {
namespace {

using namespace zrt;
namespace ptir = zrt::ir::ptir;

ptir::Program parsed(const std::string& regions) {
  auto program = ptir::parse("spec_version = ptir.v0.4\n" + regions);
  EXPECT_TRUE(program) << program.error().text();
  return program ? std::move(*program) : ptir::Program();
}

constexpr const char* kLoop = R"(region @0 main(%0 x: f32[?N]) {
  %1 = elementwise_unary(%0) {op = neg}: f32[?N]
  %2 = while_loop(si32[] {3}, %1) {cond_region = @2, body_region = @1}: tuple<si32[], f32[?N]>
  %3 = elementwise_unary(%2[1]) {op = abs}: f32[?N]
  return %3: f32[?N]
}
region @1 body(%0: si32[], %1: f32[?N]) {
  %2 = elementwise_binary(%0, si32[] {1}) {op = sub}: si32[]
  %3 = cond(i1[] {1}, %1) {true_region = @3, false_region = @3}: f32[?N]
  return %2: si32[], %3: f32[?N]
}
region @2 more(%0: si32[], %1: f32[?N]) {
  %2 = compare(%0, si32[] {0}) {op = gt}: i1[]
  return %2: i1[], %0: si32[], %1: f32[?N]
}
region @3 twice(%0: f32[?N]) {
  %1 = elementwise_binary(%0, %0) {op = add}: f32[?N]
  return %1: f32[?N]
}
region @4 forgotten() {
  return
})";

TEST(WalkProgram, SeesWhatIsReachedOnceInOneOrder) {
  const auto program = parsed(kLoop);
  std::string seen;
  const auto all = ptir::walk_program(program, [&](const ptir::ProgramPlace& at) {
    seen += "@" + std::to_string(at.region) + "." + std::to_string(at.index) + "^" + std::to_string(at.depth) + " " +
            std::string(ptir::find_op(at.instruction.opcode)->name) + "; ";
    return true;
  });
  ASSERT_TRUE(all);
  EXPECT_TRUE(*all);
  EXPECT_EQ(seen,
            "@0.0^0 elementwise_unary; @0.1^0 while_loop; @0.2^0 elementwise_unary; @2.0^1 compare; "
            "@1.0^1 elementwise_binary; @1.1^1 cond; @3.0^2 elementwise_binary; ");
  int visited = 0;
  const auto some = ptir::walk_program(program, [&](const ptir::ProgramPlace&) { return ++visited < 2; });
  ASSERT_TRUE(some);
  EXPECT_FALSE(*some);
  EXPECT_EQ(visited, 2);
  EXPECT_TRUE(*ptir::walk_program(ptir::Program(), [](const ptir::ProgramPlace&) { return false; }));
}

TEST(ConversionTargets, AreFoundByName) {
  for (const plan::ConversionTarget& target : plan::kConversionTargets)
    EXPECT_EQ(plan::find_conversion_target(target.name), &target);
  static_assert(plan::find_conversion_target("plan")->ops.contains(Opcode{95}));
  static_assert(plan::find_conversion_target("hlo") == nullptr);
}

TEST(ConversionTargets, EveryPrimitiveHasAFormInCOrSaysThatItIsLeftOut) {
  boost::mp11::mp_for_each<boost::mp11::mp_transform<std::type_identity, ops::Catalog>>(
      []<class O>(std::type_identity<O>) {
        if (O::rung == Rung::primitive) {
          EXPECT_NE(plan::c::has_form(O::opcode), HasNoFormInC<O>) << O::name;
        }
        EXPECT_EQ((boost::mp11::mp_contains<plan::c::Unsupported, O>::value), HasNoFormInC<O>) << O::name;
      });
  // What runs by its expansion alone needs no form of its own.
  EXPECT_FALSE((boost::mp11::mp_contains<plan::c::Claims, ops::LayerNorm>::value));
  EXPECT_TRUE(plan::c::has_form(ops::LayerNorm::opcode));
}

std::string words(const Result<Vector<plan::LegalityFinding>>& findings) {
  std::string text;
  EXPECT_TRUE(findings);
  for (const plan::LegalityFinding& f : *findings)
    text += std::string(f.severity == Severity::error ? "error " : "warning ") + std::string(name(f.error.code())) +
            " @" + std::to_string(f.region) + " %" + std::to_string(f.value) + " " + std::to_string(number(f.opcode)) +
            "; ";
  return text;
}

TEST(Legality, SaysEverythingThatStandsInTheWay) {
  const auto program = parsed(kLoop);
  const auto& c = *plan::find_conversion_target("c");
  const auto& dot = *plan::find_conversion_target("dot");
  const auto& plan = *plan::find_conversion_target("plan");
  EXPECT_EQ(words(plan::check_program_legality(program, dot)), "warning invalid_argument @4 %0 0; ");
  EXPECT_EQ(words(plan::check_program_legality(program, plan)), "warning invalid_argument @4 %0 0; ");
  EXPECT_EQ(words(plan::check_program_legality(program, c)), "warning invalid_argument @4 %0 0; ");
}

TEST(Legality, SaysWhatATargetHasNoFormFor) {
  const auto program = parsed(R"(region @0 main(%0: f32[?N]) {
  %1 = elementwise_unary(%0) {op = neg}: f32[?N]
  %2 = custom_call(%1) {target = "acme.scale.v1", attrs = {}}: f32[?N]
  return %2: f32[?N]
})");
  const auto& c = *plan::find_conversion_target("c");
  EXPECT_EQ(words(plan::check_program_legality(program, c)), "error unsupported_opcode @0 %2 95; ");
  // Another target may want constants, and say so of every value.
  const plan::ConversionTarget none{.name = "none", .ops = {}};
  const auto findings = plan::check_program_legality(program, none);
  ASSERT_TRUE(findings);
  EXPECT_EQ(words(findings),
            "error unsupported_opcode @0 %1 65; error unimplemented @0 %1 65; "
            "error unsupported_opcode @0 %2 95; error unimplemented @0 %2 95; ");
  EXPECT_NE((*findings)[0].error.text().find("region @0, %1: elementwise_unary has no form in none"),
            std::string_view::npos)
      << (*findings)[0].error.text();
}

TEST(Legality, WithShapesItIsAsLoweringSays) {
  const auto& plan = *plan::find_conversion_target("plan");
  const auto complex = parsed("region @0 main(%0: cf32[2]) {\n  %1 = elementwise_unary(%0) {op = exp}: cf32[2]\n" +
                              std::string("  return %1: cf32[2]\n}"));
  const std::vector<ptir::Shape> shapes{{2}};
  EXPECT_EQ(words(plan::check_program_legality(complex, plan)), "");
  EXPECT_EQ(words(plan::check_program_legality(complex, plan, shapes)), "error unimplemented @0 %0 65; ");
  ptir::Program broken;
  EXPECT_EQ(words(plan::check_program_legality(broken, plan)), "error invalid_argument @0 %0 255; ");
}

TEST(EntryPoints, HaveOneNameForOneProgram) {
  const auto program = parsed(kLoop);
  const auto name = plan::entry_point_name(program);
  ASSERT_TRUE(name);
  // The name is part of an interface: it may not change by itself.
  EXPECT_EQ(name->view(), "zrt_main_0daae3ee024b4406");
  EXPECT_EQ(plan::entry_point_name(parsed(kLoop))->view(), name->view());
  auto other = parsed(kLoop);
  other.regions[0].name = Name("two words \xc3\xa9, and a name that is so long that it must be cut somewhere, here");
  const auto long_name = plan::entry_point_name(other);
  ASSERT_TRUE(long_name);
  EXPECT_TRUE(long_name->fits());
  EXPECT_NE(long_name->view(), name->view());
  for (const char c : long_name->view()) EXPECT_TRUE((std::isalnum(c) != 0) || c == '_') << long_name->view();
}

TEST(PlanBuffers, ConstantsTakeNoneOfTheArena) {
  const auto sized = [](const std::string& regions) {
    const auto buffers = plan::plan_buffers(parsed(regions), std::vector<ptir::Shape>{{4}});
    EXPECT_TRUE(buffers) << buffers.error().text();
    return buffers ? std::pair<std::uint64_t, std::uint64_t>(buffers->constant_bytes, buffers->arena_bytes)
                   : std::pair<std::uint64_t, std::uint64_t>();
  };
  const auto plain = sized(R"(region @0 main(%0: f32[4]) {
  %1 = elementwise_unary(%0) {op = neg}: f32[4]
  return %1: f32[4]
})");
  const auto with = sized(R"(region @0 main(%0: f32[4]) {
  %1 = constant() {value = f32[4] {1, 2, 3, 4}}: f32[4]
  %2 = elementwise_binary(%0, %1) {op = add}: f32[4]
  return %2: f32[4]
})");
  EXPECT_EQ(plain.first, 0u);
  EXPECT_EQ(with.first, 16u);
  EXPECT_EQ(with.second, plain.second);
}

TEST(PlanBuffers, SizesWhatAProgramNeeds) {
  const auto program = parsed(kLoop);
  const std::vector<ptir::Shape> shapes{{1000}};
  const auto buffers = plan::plan_buffers(program, shapes);
  ASSERT_TRUE(buffers) << buffers.error().text();
  ASSERT_EQ(buffers->inputs.size(), 1u);
  EXPECT_EQ(buffers->inputs[0].name.view(), "x");
  EXPECT_EQ(buffers->inputs[0].bytes, 4000u);
  ASSERT_EQ(buffers->outputs.size(), 1u);
  EXPECT_EQ(buffers->outputs[0].type, (TensorType{DType::f32, {1000}}));
  // A number in the main region and in @2; in @1 a number and, aligned, a truth value.
  EXPECT_EQ(buffers->constant_bytes, 4u + 4u + 64u + 1u);
  // At least one value of the main region, those that the loop hands over, and those of its body.
  EXPECT_GE(buffers->arena_bytes, 4u * 4000u);
  EXPECT_LE(buffers->arena_bytes, 16u * 4096u);
  const std::vector<ptir::Shape> wrong{{1, 2}};
  EXPECT_EQ(plan::plan_buffers(program, wrong).error().code(), Errc::shape_mismatch);
}

}  // namespace
}  // namespace conversion_test
