// SPDX-License-Identifier: Apache-2.0
// tests/unit/model_plans.cpp: what every family compiles to, op by op, on both backends, and back from a file.
#include <zrt/plan/read_plan.hpp>
#include <zrt/plan/write_plan.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <data/models/tiny_models.hpp>
#include <string>
#include <support/engines.hpp>
#include <support/run_plan.hpp>
#include <vector>

namespace {

using namespace zrt;
using test::On;

/// A dense decoder's fused ops: what both backends claim.
std::vector<std::string_view> expected_ops(std::uint32_t layers) {
  std::vector<std::string_view> ops{"embedding"};
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    ops.insert(ops.end(), {"rms_norm_fused_qkv", "rms_norm_fused_rope_kv_write", "flash_attn_batched", "linear",
                           "residual_add", "rms_norm_fused_mlp_gate_up", "linear", "residual_add"});
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
      EXPECT_EQ(ops_of(compiled.plan), expected_ops(spec.layers));
      // One state per layer, named by the two instructions that touch it, in layer order.
      ASSERT_EQ(compiled.plan.states.size(), spec.layers);
      std::vector<std::uint8_t> touched;
      for (const plan::InstructionRecord& r : compiled.plan.instructions)
        if (r.state_block_id != plan::InstructionRecord::kNoState) touched.push_back(r.state_block_id);
      std::vector<std::uint8_t> layers;
      for (std::uint32_t layer = 0; layer < spec.layers; ++layer)
        layers.insert(layers.end(), 2, static_cast<std::uint8_t>(layer));
      EXPECT_EQ(touched, layers);
      EXPECT_LT(compiled.peak_registers, compiled.plan.register_count()) << "registers share memory";

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

}  // namespace
