// SPDX-License-Identifier: Apache-2.0
// tests/unit/validation.cpp: two backends' values on the same tokens; wrong ones are found where they arise.
#include <zrt/ops/catalog.hpp>

#include <gtest/gtest.h>

#include <data/models/tiny_models.hpp>
#include <functional>
#include <string>
#include <support/engines.hpp>
#include <support/validated.hpp>
#include <vector>

namespace validation_test {
namespace {

using namespace zrt;
using test::On;

EngineOptions keeping() {
  EngineOptions options;
  options.chunk = 32;
  options.logit_rows = 32;
  options.kv_type = DType::f32;
  options.keep_values = true;
  return options;
}

std::unique_ptr<test::HostEngine> engine_on(On on, const test::ModelFile& file,
                                            const EngineOptions& options = keeping()) {
  auto engine = test::open_engine(on, file.bytes(), options);
  EXPECT_TRUE(engine) << engine.error().text();
  return engine ? std::move(*engine) : nullptr;
}

/// An executor whose values are changed on their way out.
struct Changed {
  trace::ValidatedExecutor real;
  std::function<void(plan::RegisterRef, std::span<std::byte>)> value;
  std::function<void(std::size_t, std::span<std::byte>)> page;

  [[nodiscard]] trace::ValidatedExecutor validated() {
    trace::ValidatedExecutor shown = real;
    shown.executor = this;
    shown.step = [](void* self, const exec::Batch& batch) noexcept {
      const trace::ValidatedExecutor& of = static_cast<Changed*>(self)->real;
      return of.step(of.executor, batch);
    };
    shown.read = [](void* self, plan::RegisterRef reg, Span<std::byte> to) noexcept {
      auto& changed = *static_cast<Changed*>(self);
      auto done = changed.real.read(changed.real.executor, reg, to);
      if (changed.value) changed.value(reg, to);
      return done;
    };
    shown.read_page = [](void* self, std::size_t state, std::uint32_t id, Span<std::byte> to) noexcept {
      auto& changed = *static_cast<Changed*>(self);
      auto done = changed.real.read_page(changed.real.executor, state, id, to);
      if (changed.page) changed.page(state, to);
      return done;
    };
    return shown;
  }
};

/// The nth instruction of an op in the plan.
std::uint32_t find(const plan::ExecutionPlan& plan, Opcode opcode, std::uint32_t nth) {
  for (std::uint32_t i = 0; i < plan.instructions.size(); ++i)
    if (plan.instructions[i].opcode == opcode && nth-- == 0) return i;
  ADD_FAILURE() << "no such instruction";
  return 0;
}

TEST(Validation, BackendsOfEveryFamilyGiveTheSameValues) {
  for (const test::TinySpec& spec : test::kTinyFamilies) {
    SCOPED_TRACE(spec.name);
    const test::ModelFile file = test::tiny_model(spec);
    const auto cpu = engine_on(On::cpu, file);
    const auto reference = engine_on(On::reference, file);
    ASSERT_TRUE(cpu && reference);
    const std::vector<std::int32_t> prompt = test::tiny_prompt(64, 37, 1);
    test::expect_validated(cpu->validated(), reference->validated(), prompt, std::vector<std::int32_t>{1, 2, 3}, 32);
  }
}

class WrongValues : public testing::Test {
 protected:
  WrongValues() : file_(test::tiny_model({.weights = DType::q8_0, .width = 64, .ff = 128})) {}

  /// Runs three steps: a prompt of 20, and two tokens; the second backend is changed.
  void run(Changed& changed) {
    first_ = engine_on(On::cpu, file_);
    second_ = engine_on(On::reference, file_);
    ASSERT_TRUE(first_ && second_);
    changed.real = second_->validated();
    trace::ValidatedExecutor other = changed.validated();
    if (capabilities_ != nullptr) other.capabilities = capabilities_;
    auto made = trace::RunComparison::make(first_->validated(), other, kOpTable<ops::Catalog>, system_allocator());
    ASSERT_TRUE(made) << made.error().text();
    validation_.emplace(std::move(*made));
    const std::vector<std::int32_t> ids = test::tiny_prompt(64, 20, 1);
    ASSERT_TRUE(validation_->step(std::vector<std::uint32_t>(ids.begin(), ids.end()), true));
    for (const std::uint32_t token : {5u, 6u}) ASSERT_TRUE(validation_->step({&token, 1}, false));
  }
  [[nodiscard]] const plan::ExecutionPlan& plan() const { return first_->plan().plan; }
  [[nodiscard]] const trace::ValuePair& found() const { return validation_->pairs()[validation_->difference()->pair]; }
  [[nodiscard]] plan::RegisterRef result(Opcode opcode, std::uint32_t nth, std::size_t output) {
    if (!probe_) probe_ = engine_on(On::cpu, file_);
    const plan::ExecutionPlan& plan = probe_->plan().plan;
    return plan.instruction(find(plan, opcode, nth)).outputs[output];
  }

  test::ModelFile file_;
  std::unique_ptr<test::HostEngine> probe_, first_, second_;
  const exec::CapabilityTable* capabilities_ = nullptr;
  std::optional<trace::RunComparison> validation_;
};

TEST_F(WrongValues, ABitOfAResultIsFoundInItsRowAndElement) {
  Changed changed;
  const plan::RegisterRef k = result(ops::RmsNormFusedQkv::opcode, 1, 1);
  changed.value = [&](plan::RegisterRef reg, std::span<std::byte> bytes) {
    // Row 7 of the prompt: 2 heads of 8.
    if (reg == k && bytes.size() > 7 * 64) bytes[7 * 64 + 3 * 4] ^= std::byte{1};
  };
  run(changed);
  ASSERT_TRUE(validation_->difference());
  const trace::Difference& d = *validation_->difference();
  EXPECT_EQ(d.step, 0u);
  EXPECT_EQ(d.token, 7u);
  EXPECT_EQ(d.position, 7u);
  EXPECT_EQ(d.element, 3u);
  EXPECT_NE(d.first, d.second);
  EXPECT_FALSE(d.in_state);
  EXPECT_EQ(found().opcode, ops::RmsNormFusedQkv::opcode);
  EXPECT_EQ(found().layer, 1u);
  EXPECT_EQ(found().output, 1u);
  EXPECT_EQ(plan().weights[plan::index(found().weight)].name.view(), "blk.1.attn_k.weight");
  EXPECT_EQ(found().instruction[0], find(plan(), ops::RmsNormFusedQkv::opcode, 1));
  std::uint64_t differing = 0;
  for (const trace::LayerAgreement& layer : validation_->layers()) {
    differing += layer.differing;
    EXPECT_EQ(layer.differing, layer.layer == 1 ? 1u : 0u);
  }
  EXPECT_EQ(differing, 1u) << "what is read wrong is computed right";
}

TEST_F(WrongValues, AKeyOfAPositionIsFoundInTheStepThatWritesIt) {
  Changed changed;
  changed.page = [](std::size_t state, std::span<std::byte> page) {
    // Token 4 of a page: key dim 2 of head 1 of 2; 16 tokens innermost. In the second page that is position 20.
    if (state == 1) page[((1 * 8 + 2) * 16 + 4) * 4] ^= std::byte{1};
  };
  run(changed);
  ASSERT_TRUE(validation_->difference());
  const trace::Difference& d = *validation_->difference();
  EXPECT_EQ(d.step, 0u);
  EXPECT_EQ(d.position, 4u);
  EXPECT_TRUE(d.in_state);
  EXPECT_EQ(d.element, 1u * 8u + 2u);
  EXPECT_EQ(found().layer, 1u);
  EXPECT_EQ(found().opcode, ops::RmsNormFusedRopeKvWrite::opcode);
  std::uint64_t differing = 0;
  for (const trace::LayerAgreement& layer : validation_->layers()) differing += layer.differing;
  EXPECT_EQ(differing, 2u) << "positions 4 and 20; nothing that no step has written";
}

TEST_F(WrongValues, ARelaxedOpMayDifferByItsBoundAndSoMayWhatFollows) {
  exec::CapabilityTable table = *engine_on(On::reference, file_)->validated().capabilities;
  AdapterCapability& linear = table[number(ops::Linear::opcode)];
  linear = {.numerics = NumericsClass::relaxed, .bound = 1e-3f};
  capabilities_ = &table;
  const auto scaled = [](std::span<std::byte> bytes, float factor) {
    for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4) {
      float x;
      std::memcpy(&x, bytes.data() + i, 4);
      x *= factor;
      std::memcpy(bytes.data() + i, &x, 4);
    }
  };
  const plan::RegisterRef y = result(ops::Linear::opcode, 0, 0);
  const plan::RegisterRef before = result(ops::RmsNormFusedQkv::opcode, 0, 0);
  for (const auto& [reg, factor, outside] :
       {std::tuple(y, 1.0009f, false), std::tuple(y, 1.01f, true), std::tuple(before, 1.0009f, true)}) {
    Changed changed;
    changed.value = [&](plan::RegisterRef r, std::span<std::byte> bytes) {
      if (r == reg) scaled(bytes, factor);
    };
    run(changed);
    EXPECT_EQ(validation_->difference().has_value(), outside) << factor;
    if (validation_->difference()) {
      EXPECT_EQ(found().opcode, reg == y ? ops::Linear::opcode : ops::RmsNormFusedQkv::opcode);
    }
  }
  // What follows may be off by what came before, and choices behind it are not compared.
  double allowed = 0.0;
  for (const trace::ValuePair& pair : validation_->pairs()) {
    if (pair.opcode == ops::Linear::opcode) {
      EXPECT_NEAR(pair.allowed, allowed + 1e-3, 1e-9);
    }
    EXPECT_GE(pair.allowed, allowed) << "along the residual stream";
    allowed = std::max(allowed, pair.allowed);
  }
  EXPECT_NEAR(allowed, 4e-3, 1e-9) << "two layers with two each";
  Changed token;
  const plan::RegisterRef chosen = probe_->plan().plan.output(exec::port::kToken);
  token.value = [&](plan::RegisterRef r, std::span<std::byte> bytes) {
    if (r == chosen) bytes[0] ^= std::byte{1};
  };
  run(token);
  EXPECT_FALSE(validation_->difference());
  capabilities_ = nullptr;
  run(token);
  EXPECT_TRUE(validation_->difference());
}

TEST(Validation, NotANumberDiffersFromOneAndInfinitiesAreFar) {
  const float values[] = {1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1.0f};
  const auto at = [&](std::size_t i) { return reinterpret_cast<const std::byte*>(values + i); };
  EXPECT_FALSE(trace::agree(DType::f32, at(1), at(1), 0, 0.0).differs);
  for (const auto& [a, b] : {std::pair(0, 1), std::pair(1, 2), std::pair(0, 2), std::pair(0, 3)}) {
    const trace::Agreement seen =
        trace::agree(DType::f32, at(static_cast<std::size_t>(a)), at(static_cast<std::size_t>(b)), 0, 0.5);
    EXPECT_TRUE(seen.differs && seen.outside) << a << " and " << b;
  }
  const std::int32_t ids[] = {3, 4};
  EXPECT_TRUE(trace::agree(DType::si32, reinterpret_cast<const std::byte*>(ids),
                           reinterpret_cast<const std::byte*>(ids + 1), 0, 0.0)
                  .outside);
  EXPECT_FALSE(trace::agree(DType::si32, reinterpret_cast<const std::byte*>(ids),
                            reinterpret_cast<const std::byte*>(ids + 1), 0, 0.1)
                   .outside);
}

TEST(Validation, NeedsEnginesThatKeepValuesAndAreAlike) {
  const test::ModelFile file = test::tiny_model({});
  EngineOptions plain = keeping();
  plain.keep_values = false;
  EngineOptions shorter = keeping();
  shorter.context = 32;
  const auto keeps = engine_on(On::cpu, file);
  for (const EngineOptions& options : {plain, shorter}) {
    const auto other = engine_on(On::reference, file, options);
    const auto made =
        trace::RunComparison::make(keeps->validated(), other->validated(), kOpTable<ops::Catalog>, system_allocator());
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code(), Errc::invalid_argument);
  }
  // Beyond the context, and more tokens than a step has.
  const auto reference = engine_on(On::reference, file);
  auto validation = trace::RunComparison::make(keeps->validated(), reference->validated(), kOpTable<ops::Catalog>,
                                               system_allocator());
  ASSERT_TRUE(validation);
  const std::vector<std::uint32_t> many(64, 1);
  EXPECT_FALSE(validation->step(many, true));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(validation->step(std::span(many).first(32), true));
  const auto beyond = validation->step(std::span(many).first(1), false);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code(), Errc::capacity_exceeded);
}

}  // namespace
}  // namespace validation_test
