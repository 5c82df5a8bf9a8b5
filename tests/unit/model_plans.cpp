// SPDX-License-Identifier: Apache-2.0
// tests/unit/model_plans.cpp: what every family compiles to, op by op, on both backends, and back from a mapped file.
#include <zrt/core/file_mapping.hpp>
#include <zrt/model/weights.hpp>
#include <zrt/plan/memory.hpp>
#include <zrt/plan/read_plan.hpp>
#include <zrt/plan/write_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <data/models/tiny_models.hpp>
#include <string>
#include <support/engines.hpp>
#include <support/run_plan.hpp>
#include <unistd.h>
#include <vector>

namespace model_plans_test {
namespace {

using namespace zrt;
using test::On;

/// The fused ops of a recurrent layer's mixer, but for the projection behind it.
std::vector<std::string_view> mixer_ops(std::string_view family) {
  if (family == "lfm2") return {"rms_norm_fused_qkv", "gated_act", "ssm_conv1d", "gated_act"};
  if (family == "mamba")
    return {"rms_norm", "linear", "linear", "ssm_conv1d", "linear", "linear", "linear", "ssm_scan", "gated_act"};
  if (family == "qwen35")
    return {"rms_norm", "linear", "linear", "linear", "linear", "ssm_conv1d", "ssm_delta_net", "ssm_gated_norm"};
  return {"rms_norm_fused_qkv", "ssm_conv1d", "ssm_scan", "ssm_gated_norm"};
}

/// A decoder's fused ops: what both backends claim. Gemma normalises what each block gives.
std::vector<std::string_view> expected_ops(const test::TinySpec& spec) {
  const bool post_norm = spec.family.starts_with("gemma");
  std::vector<std::string_view> ops{"embedding"};
  const auto end_block = [&](std::string_view last = "linear") {
    if (!last.empty()) ops.push_back(last);
    if (post_norm) ops.push_back("rms_norm");
    ops.push_back("residual_add");
  };
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    if (test::is_recurrent(spec, layer)) {
      const auto mixer = mixer_ops(spec.family);
      ops.insert(ops.end(), mixer.begin(), mixer.end());
    } else if (spec.family == "qwen35") {
      ops.insert(ops.end(), {"rms_norm_fused_qkv", "head_columns", "rms_norm_fused_rope_kv_write", "flash_attn_batched",
                             "head_columns"});
    } else {
      ops.insert(ops.end(), {"rms_norm_fused_qkv", "rms_norm_fused_rope_kv_write", "flash_attn_batched"});
    }
    end_block();
    if (!test::has_mlp(spec)) continue;
    if (spec.experts == 0) {
      ops.push_back("rms_norm_fused_mlp_gate_up");
      end_block();
      continue;
    }
    ops.insert(ops.end(), {"rms_norm", "moe_gate_topk", "moe_gate_up", "moe_down_acc"});
    if (spec.shared_ff != 0) {
      ops.insert(ops.end(), {"linear", "linear", "gated_act", "linear"});
      ops.push_back(spec.family == "qwen2moe" ? "shared_expert" : "residual_add");
    }
    end_block({});
  }
  ops.insert(ops.end(), {"take", "rms_norm", "lm_head", "sample"});
  return ops;
}

std::vector<std::string_view> ops_of(const plan::ExecutionPlan& plan) {
  std::vector<std::string_view> ops;
  for (const plan::InstructionRecord& r : plan.instructions)
    ops.push_back((*test::catalog_ops().table)[number(r.opcode)]->name);
  return ops;
}

TEST(ModelPlans, EveryFamilyCompilesToTheSameOpsAndComesBackFromAFile) {
  for (const test::TinySpec& spec : test::kTinyFamilies)
    for (const On on : {On::cpu, On::reference}) {
      SCOPED_TRACE(std::string(spec.name) + (on == On::cpu ? " on cpu" : " on reference"));
      const test::ModelFile file = test::tiny_model(spec);
      const auto engine = test::open_engine(on, file.bytes());
      ASSERT_TRUE(engine) << engine.error().text();
      const plan::CompiledPlan& compiled = (*engine)->plan();
      EXPECT_EQ(ops_of(compiled.plan), expected_ops(spec));
      // One state per layer, named by the instructions that touch it, in layer order: one convolution, or two ops.
      ASSERT_EQ(compiled.plan.states.size(), spec.layers);
      std::vector<std::uint8_t> touched;
      for (const plan::InstructionRecord& r : compiled.plan.instructions)
        if (r.state_block_id != plan::InstructionRecord::kNoState) touched.push_back(r.state_block_id);
      std::vector<std::uint8_t> layers;
      for (std::uint32_t layer = 0; layer < spec.layers; ++layer)
        layers.insert(layers.end(), spec.family == "lfm2" && test::is_recurrent(spec, layer) ? 1 : 2,
                      static_cast<std::uint8_t>(layer));
      EXPECT_EQ(touched, layers);
      EXPECT_LT(compiled.peak_registers, compiled.plan.register_count()) << "registers share memory";
      for (const std::uint32_t tokens : {64u, 1u}) {
        Extents bounds;
        for (std::uint32_t& bound : bounds.value) bound = tokens;
        const auto mapping = plan::plan_memory(compiled.plan, compiled.liveness, *test::catalog_ops().table, bounds,
                                               std::vector<std::uint64_t>(compiled.plan.instructions.size(), 64));
        ASSERT_TRUE(mapping) << mapping.error().text();
        EXPECT_GT(mapping->physical_count, 0u);
        EXPECT_LE(mapping->physical_count, compiled.peak_registers);
      }

      const auto bytes = plan::write_plan(compiled);
      ASSERT_TRUE(bytes);
      const auto back = plan::read_plan(*bytes, *test::catalog_ops().table);
      ASSERT_TRUE(back) << back.error().text();
      EXPECT_EQ(ops_of(back->plan), ops_of(compiled.plan));
      EXPECT_EQ(back->peak_registers, compiled.peak_registers);
      const auto again = plan::write_plan(*back);
      ASSERT_TRUE(again);
      EXPECT_TRUE(std::ranges::equal(*again, *bytes));
    }
}

/// A file that is gone when the test is over.
class Written {
 public:
  explicit Written(std::span<const std::byte> bytes) {
    const int file = ::mkstemp(path_.data());
    ok_ = file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    if (file >= 0) (void)::close(file);
  }
  ~Written() { (void)::unlink(path_.data()); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::string_view path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "zrt-plan-XXXXXX";
  bool ok_ = false;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, {}, std::bit_cast<std::uint32_t, float>, std::bit_cast<std::uint32_t, float>);
}

/// The plan that a CPU engine runs, from the mapping of a file, gives that engine's logits to the bit.
TEST(ModelPlans, APlanFromAMappingRunsToTheLogitsOfTheEngine) {
  for (test::TinySpec spec : test::kTinyFamilies) {
    SCOPED_TRACE(spec.name);
    spec.weights = spec.biases ? DType::f32 : DType::q8_0;
    const test::ModelFile file = test::tiny_model(spec);
    const auto engine = test::open_engine(On::cpu, file.bytes(), {.logit_rows = 32});
    ASSERT_TRUE(engine) << engine.error().text();
    constexpr std::size_t kPrompt = 19;
    const std::vector<std::int32_t> tokens = test::tiny_prompt(64, kPrompt + 4, 5);
    std::vector<float> expected;
    ASSERT_TRUE((*engine)->evaluate(
        std::span(tokens).first(kPrompt), std::span(tokens).subspan(kPrompt),
        [&](std::uint32_t, std::span<const float> row) { expected.insert(expected.end(), row.begin(), row.end()); }));

    const auto bytes = plan::write_plan((*engine)->plan());
    ASSERT_TRUE(bytes);
    const Written written(bytes->span());
    ASSERT_TRUE(written.ok());
    Result<plan::CompiledPlan> read = fail(Errc::not_found, "");
    {
      const auto mapping = FileMapping::open(written.path(), system_allocator());
      ASSERT_TRUE(mapping) << mapping.error().text();
      ASSERT_EQ(mapping->span().size(), bytes->size());
      read = plan::read_plan(mapping->span(), *test::catalog_ops().table);
      ASSERT_TRUE(read) << read.error().text();
      // The same checks as of any input: a mapping that ends early is refused, wherever it ends.
      for (std::size_t size = 0; size < mapping->span().size(); size += 1 + size / 3)
        EXPECT_FALSE(plan::read_plan(mapping->span().first(size), *test::catalog_ops().table)) << size;
    }
    // The mapping is gone: a plan holds copies.
    const auto gguf = model::GgufFile::open(file.bytes());
    ASSERT_TRUE(gguf);
    const auto logits = test::run_decoder(*read, model::weight_source(*gguf), tokens, kPrompt);
    ASSERT_TRUE(logits) << logits.error().text();
    ASSERT_EQ(logits->size(), tokens.size() * spec.vocabulary);
    EXPECT_TRUE(same_bits(*logits, expected));
  }
}

}  // namespace
}  // namespace model_plans_test
