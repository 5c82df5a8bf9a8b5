// SPDX-License-Identifier: Apache-2.0
// tests/unit/custom_call.cpp: custom calls: targets by name on both host backends, attributes, what is refused.
#include <zrt/backend/cpu.hpp>
#include <zrt/backend/reference.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/onnx/targets.hpp>
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/ir/ptir/text.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace custom_call_test {
namespace {

using namespace zrt;
namespace ptir = zrt::ir::ptir;

/// y = scale · x + offsets[0], and how many elements there are. The workers split it.
struct Affine {
  static constexpr std::string_view target = "test.affine.v1";
  static Result<void> check(const HostCall<ops::CustomCall>& c) noexcept {
    const auto scale = ops::CustomCall::attributes_of(c).find("scale");
    if (!scale || scale->kind() != ops::CustomKind::real)
      return fail(Errc::invalid_params, "test.affine.v1: scale must be a real");
    if (c.in.size() != 1 || c.out.size() != 2 || c.in[0].type.dtype != DType::f32)
      return fail(Errc::invalid_params, "test.affine.v1: one operand of f32 and two results expected");
    return {};
  }
  static CheckedSize scratch(const TypeCall<ops::CustomCall>&, const Extents&) noexcept { return 64; }
  static void run(const HostCall<ops::CustomCall>& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const auto scale = static_cast<float>(ops::CustomCall::attributes_of(c).find("scale")->real());
    const auto offsets = ops::CustomCall::attributes_of(c).find("offsets");
    const float offset = offsets ? static_cast<float>(offsets->integer(0)) : 0.0f;
    const std::uint64_t count = c.in[0].elements(step);
    for (std::uint64_t i = worker.index; i < count; i += worker.count) {
      const float scaled = scale * c.in[0].as<float>()[i];
      c.out[0].as<float>()[i] = scaled + offset;
    }
    if (worker.index == 0) *c.out[1].as<std::int32_t>() = static_cast<std::int32_t>(worker.scratch.size() / 64 * count);
  }
};
struct Nothing {
  static constexpr std::string_view target = "test.nothing.v2";
  static void run(const HostCall<ops::CustomCall>&, const ExecutionContext&, const Worker&) noexcept {}
};

/// Says which attributes it takes.
struct Listed {
  static constexpr std::string_view target = "test.listed.v1";
  static constexpr auto attributes = std::to_array<ops::CustomAttributeField>(
      {{"scale", ops::CustomKind::real}, {"axes", ops::CustomKind::integers, true}});
  static void run(const HostCall<ops::CustomCall>&, const ExecutionContext&, const Worker&) noexcept {}
};

/// Takes these lists and no others.
struct Lists {
  static constexpr std::string_view target = "test.lists.v1";
  static constexpr std::array<std::string_view, 3> kTexts{"a", "", "b\"c"};
  static constexpr std::array<bool, 2> kFlags{false, true};
  static constexpr std::array<double, 2> kReals{-0.5, 1e300};
  static Result<void> check(const HostCall<ops::CustomCall>& c) noexcept {
    const auto attributes = ops::CustomCall::attributes_of(c);
    const auto texts = attributes.find("texts"), flags = attributes.find("flags"), reals = attributes.find("reals");
    const auto holds = [](const auto& found, ops::CustomKind kind, std::size_t count, const auto& same) {
      if (!found || found->kind() != kind || found->size() != count) return false;
      for (std::uint32_t i = 0; i < count; ++i)
        if (!same(i)) return false;
      return true;
    };
    if (!holds(texts, ops::CustomKind::texts, kTexts.size(), [&](auto i) { return texts->text(i) == kTexts[i]; }))
      return fail(Errc::invalid_params, "texts");
    if (!holds(flags, ops::CustomKind::booleans, kFlags.size(), [&](auto i) { return flags->boolean(i) == kFlags[i]; }))
      return fail(Errc::invalid_params, "flags");
    if (!holds(reals, ops::CustomKind::reals, kReals.size(), [&](auto i) { return reals->real(i) == kReals[i]; }))
      return fail(Errc::invalid_params, "reals");
    return {};
  }
  static void run(const HostCall<ops::CustomCall>&, const ExecutionContext&, const Worker&) noexcept {}
};

using Targets = boost::mp11::mp_append<boost::mp11::mp_list<Nothing, Affine, Listed, Lists>, ir::onnx::Targets>;
// Tables of this one op: the rest of the catalog need not be compiled.
using Only = boost::mp11::mp_list<ops::CustomCall>;
using Reference = BasicReferenceBackend<Only, Targets>;
using Cpu = BasicCpuBackend<cpu::WeightTypes<>, cpu::Variants<cpu::Isa::v1>, boost::mp11::mp_list<>, Targets>;

Result<ptir::Program> affine(std::string_view target, double scale) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {b.dim("N"), 2}}, "x");
  const auto y = b.custom_call(target, {x},
                               {b.entry("name", b.string("zig\n")), b.entry("scale", ptir::Attribute::real(scale)),
                                b.entry("offsets", b.ints({-3, 4}))},
                               {x.type(), {DType::si32, {}}}, true);
  b.result(y[0]);
  b.result(y[1]);
  return b.finish();
}

/// Workers that come one after the other.
ThreadHook in_turn(std::uint32_t workers) {
  static std::uint32_t count;
  count = workers;
  return {&count,
          [](void* context, ThreadHook::Work work, void* argument) noexcept {
            const std::uint32_t all = *static_cast<std::uint32_t*>(context);
            for (std::uint32_t i = 0; i < all; ++i) work(argument, i, all);
          },
          workers};
}

template <class B> class CustomCall : public testing::Test {};
using Backends = testing::Types<Reference, Cpu>;
TYPED_TEST_SUITE(CustomCall, Backends);

template <class B> Result<void> ready(const Result<ptir::Program>& program) {
  EXPECT_TRUE(program) << program.error().text();
  const ptir::Shape shapes[]{{3, 2}};
  const auto runner = ProgramRunner<B, Only>::make(*program, shapes);
  if (!runner) return pass(runner);
  return {};
}

TYPED_TEST(CustomCall, RunsItsTarget) {
  using B = TypeParam;
  const auto program = affine("test.affine.v1", 0.5);
  ASSERT_TRUE(program) << program.error().text();
  const ptir::Shape shapes[]{{3, 2}};
  for (const std::uint32_t workers : {1u, 2u}) {
    typename B::Device device(system_allocator(), in_turn(workers));
    auto runner = ProgramRunner<B, Only>::make(*program, shapes, device, {});
    ASSERT_TRUE(runner) << runner.error().text();
    const std::array<float, 6> x{0, 2, 4, 6, 8, 10};
    std::array<float, 6> y{};
    std::int32_t count = 0;
    const ConstTensorView in[]{{DType::f32, {3, 2}, std::as_bytes(std::span(x))}};
    const TensorView out[]{{DType::f32, {3, 2}, std::as_writable_bytes(std::span(y))},
                           {DType::si32, {}, std::as_writable_bytes(std::span(&count, 1))}};
    const auto done = runner->run(in, out);
    ASSERT_TRUE(done) << done.error().text();
    EXPECT_EQ(y, (std::array<float, 6>{-3, -2, -1, 0, 1, 2}));
    EXPECT_EQ(count, 6) << "with its workspace";
  }
}

TYPED_TEST(CustomCall, AnUnknownTargetIsNotImplemented) {
  for (const char* target : {"test.affine.v2", "test.other.v1"}) {
    const auto r = ready<TypeParam>(affine(target, 1.0));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code(), Errc::unimplemented);
    EXPECT_NE(r.error().text().find(target), std::string_view::npos) << r.error().text();
    EXPECT_EQ(r.error().opcode(), 95u);
  }
}

// Passes drop what nobody reads, but not before its target is looked for.
TYPED_TEST(CustomCall, AnUnknownTargetOfACallThatNobodyReadsIsNotImplementedEither) {
  for (const bool optimise : {false, true})
    for (const char* target : {"test.other.v1", "test.nothing.v2"}) {
      ptir::Builder b;
      const auto x = b.parameter({DType::f32, {2}}, "x");
      (void)b.custom_call(target, {x}, {}, {x.type()}, false);
      b.result(b.custom_call("test.nothing.v2", {x}, {}, {x.type()}, false)[0]);
      const auto program = b.finish();
      ASSERT_TRUE(program) << program.error().text();
      const ptir::Shape shapes[]{{2}};
      ProgramOptions options;
      options.optimise = optimise;
      const auto runner = ProgramRunner<TypeParam, Only>::make(*program, shapes, options);
      if (std::string_view(target) == "test.nothing.v2") {
        ASSERT_TRUE(runner) << runner.error().text();
        EXPECT_EQ(runner->compiled().plan.instructions.size(), 1u);
        continue;
      }
      ASSERT_FALSE(runner);
      EXPECT_EQ(runner.error().code(), Errc::unimplemented);
      EXPECT_NE(runner.error().text().find(target), std::string_view::npos) << runner.error().text();
    }
}

TYPED_TEST(CustomCall, ATargetRefusesWhatItDoesNotTake) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {2}}, "x");
  b.result(b.custom_call("test.affine.v1", {x}, {b.entry("scale", ptir::Attribute::integer(1))}, {x.type()}, false)[0]);
  const auto program = b.finish();
  ASSERT_TRUE(program) << program.error().text();
  const ptir::Shape shapes[]{{2}};
  const auto runner = ProgramRunner<TypeParam, Only>::make(*program, shapes);
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code(), Errc::invalid_params);
  EXPECT_NE(runner.error().text().find("scale"), std::string_view::npos);
}

TYPED_TEST(CustomCall, ATargetReadsListsAsTheProgramHasThem) {
  ptir::Builder b;
  const auto x = b.parameter({DType::f32, {3, 2}}, "x");
  b.result(b.custom_call(Lists::target, {x},
                         {b.entry("texts", b.strings(Lists::kTexts)), b.entry("flags", b.booleans(Lists::kFlags)),
                          b.entry("reals", b.reals(Lists::kReals))},
                         {x.type()}, false)[0]);
  const auto done = ready<TypeParam>(b.finish());
  EXPECT_TRUE(done) << done.error().text();
}

TYPED_TEST(CustomCall, ATargetThatListsItsAttributesTakesNoOthers) {
  const auto found = [](const std::string& target, const std::string& attributes, const std::string& y = "f32[2]") {
    const auto program =
        ptir::parse("spec_version = ptir.v0.4\nregion @0 main(%0: f32[2]) {\n  %1 = custom_call(%0) {target = \"" +
                    target + "\", attrs = {" + attributes + "}}: " + y + "\n  return %1: " + y + "\n}");
    EXPECT_TRUE(program) << program.error().text();
    const ptir::Shape shapes[]{{2}};
    const auto runner = ProgramRunner<TypeParam, Only>::make(*program, shapes);
    if (runner) return std::string("taken");
    EXPECT_EQ(runner.error().code(), Errc::invalid_params);
    return std::string(runner.error().text());
  };
  EXPECT_EQ(found("test.listed.v1", "scale = 1.0"), "taken");
  EXPECT_EQ(found("test.listed.v1", "axes = [1], scale = 1.0"), "taken");
  EXPECT_EQ(found("test.listed.v1", "scale = 1.0, scales = 1.0"), "test.listed.v1 has no attribute scales");
  EXPECT_EQ(found("test.listed.v1", "scale = 1"), "test.listed.v1: attribute scale is an integer, expected a real");
  EXPECT_EQ(found("test.listed.v1", "axes = 1, scale = 1.0"),
            "test.listed.v1: attribute axes is an integer, expected a list of integers");
  EXPECT_EQ(found("test.listed.v1", "axes = [1]"), "test.listed.v1 needs the attribute scale, a real");
  EXPECT_EQ(found("test.nothing.v2", "foo = 1"), "taken") << "it lists none, and has no check";
  EXPECT_EQ(found("zrt.onnx.sin.v1", ""), "taken");
  EXPECT_EQ(found("zrt.onnx.sin.v1", "foo = 1"), "zrt.onnx.sin.v1 has no attribute foo");
  const std::string flags = "nan = true, negative = true, positive = true";
  EXPECT_EQ(found("zrt.onnx.classify.v1", flags, "i1[2]"), "taken");
  EXPECT_EQ(found("zrt.onnx.classify.v1", "foo = true, " + flags, "i1[2]"),
            "zrt.onnx.classify.v1 has no attribute foo");
  EXPECT_EQ(found("zrt.onnx.classify.v1", "nan = true, negative = true", "i1[2]"),
            "zrt.onnx.classify.v1 needs the attribute positive, a boolean");
}

TEST(CustomCallLimits, ResultsAndNamesThatDoNotFitAreRefused) {
  const auto lowered = [](const std::string& target, int results) {
    std::string types;
    for (int i = 0; i < results; ++i) types += i == 0 ? "f32[2]" : ", f32[2]";
    const auto program =
        ptir::parse("spec_version = ptir.v0.4\nregion @0 main(%0: f32[2]) {\n  %1 = custom_call(%0) {target = \"" +
                    target + "\", attrs = {}}: tuple<" + types + ">\n  return %1[0]: f32[2]\n}");
    EXPECT_TRUE(program) << program.error().text();
    const ptir::Shape shapes[]{{2}};
    static constexpr ir::Ops kOps = ir::Ops::of<Only>();
    const auto graph = ptir::lower(*program, shapes, *kOps.table);
    return graph ? Errc::ok : graph.error().code();
  };
  EXPECT_EQ(lowered("a.b.v1", 4), Errc::ok);
  EXPECT_EQ(lowered("a.b.v1", 5), Errc::limit_exceeded);
  EXPECT_EQ(lowered("a." + std::string(107, 'b') + ".v1", 1), Errc::ok);
  EXPECT_EQ(lowered("a." + std::string(108, 'b') + ".v1", 1), Errc::limit_exceeded);
}

TEST(CustomAttributes, AreReadAsTheyWereWritten) {
  ops::CustomAttributesWriter writer(system_allocator());
  ASSERT_TRUE(writer.begin("flag", ops::CustomKind::boolean, 1) && writer.boolean(true));
  ASSERT_TRUE(writer.begin("reals", ops::CustomKind::reals, 2) && writer.word(std::bit_cast<std::uint64_t>(-0.5)) &&
              writer.word(std::bit_cast<std::uint64_t>(1e300)));
  ASSERT_TRUE(writer.begin("", ops::CustomKind::integers, 0));
  ASSERT_TRUE(writer.begin("texts", ops::CustomKind::texts, 3) && writer.text("a") && writer.text("") &&
              writer.text("bc"));
  ASSERT_TRUE(writer.begin("flags", ops::CustomKind::booleans, 2) && writer.boolean(false) && writer.boolean(true));
  ASSERT_TRUE(writer.begin("n", ops::CustomKind::integer, 1) && writer.word(static_cast<std::uint64_t>(-7)));
  const ops::CustomAttributes all(writer.bytes());
  EXPECT_TRUE(all.well_formed());
  EXPECT_TRUE(all.find("flag")->boolean());
  EXPECT_EQ(all.find("reals")->size(), 2u);
  EXPECT_EQ(all.find("reals")->real(0), -0.5);
  EXPECT_EQ(all.find("reals")->real(1), 1e300);
  EXPECT_EQ(all.find("")->size(), 0u);
  EXPECT_EQ(all.find("texts")->text(0), "a");
  EXPECT_EQ(all.find("texts")->text(1), "");
  EXPECT_EQ(all.find("texts")->text(2), "bc");
  EXPECT_FALSE(all.find("flags")->boolean(0));
  EXPECT_TRUE(all.find("flags")->boolean(1));
  EXPECT_EQ(all.find("n")->integer(), -7);
  EXPECT_FALSE(all.find("m"));
  // Whatever is read of what is cut or changed lies within the bytes; the sanitizers watch.
  std::size_t broken = 0;
  for (std::size_t size = 0; size < writer.bytes().size(); ++size) {
    const std::vector<std::byte> cut(writer.bytes().begin(),
                                     writer.bytes().begin() + static_cast<std::ptrdiff_t>(size));
    broken += ops::CustomAttributes(cut).well_formed() ? 0u : 1u;
    for (const unsigned value : {0u, 1u, 7u, 255u}) {
      std::vector<std::byte> changed(writer.bytes().begin(), writer.bytes().end());
      changed[size] = static_cast<std::byte>(value);
      ops::CustomAttributes some(changed);
      ops::CustomAttribute one;
      while (some.next(one)) {
        (void)one.integer(one.size());
        (void)one.text(one.size());
        (void)one.boolean(one.size());
      }
    }
  }
  EXPECT_EQ(broken + 6, writer.bytes().size()) << "a cut between attributes is none";
}

}  // namespace
}  // namespace custom_call_test
