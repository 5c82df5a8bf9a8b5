// SPDX-License-Identifier: Apache-2.0
// tests/unit/split_room.cpp: how much of a plan fits a device, and where plans without a head or an embedding are cut.
// covers: backend/split/room.hpp plan/split.hpp
#include <zrt/backend/split/room.hpp>
#include <zrt/ir/builder.hpp>
#include <zrt/ops/rms_norm.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace split_room_test {
namespace {

using namespace zrt;

using Norms = boost::mp11::mp_list<ops::RmsNorm>;
constexpr auto kOps = ir::Ops::of<Norms>();
constexpr std::uint32_t kWidth = 32;
constexpr ir::WeightLookup kWeights{
    nullptr, [](const void*, std::string_view) noexcept -> WeightInfo { return {true, DType::f32, {kWidth}}; }};
/// Rows of a step.
Extents rows(std::uint32_t count) {
  Extents extents;
  extents.value[1] = count;
  return extents;
}
exec::PlanSizes sizes_of(bool keeps_values = false) {
  return {.prefill = rows(8), .decode = rows(1), .groups = {}, .slots = 1, .keeps_values = keeps_values};
}

/// Norms of so many layers, behind an embedding and before a head, or without them.
plan::CompiledPlan chain(std::uint32_t layers, bool embedding, bool head) {
  ir::Builder g(*kOps.table, system_allocator(), kWeights);
  auto x = g.input("x", {DType::f32, {Dim(1, g.symbol("tokens", 8)), kWidth}});
  const auto norm = [&](const std::string& weight) {
    x = g.emit<ops::RmsNorm>({.in = {x}, .w = {g.weight(Name(weight), {kWidth})}, .params = {.dim = kWidth}})[0];
  };
  if (embedding) norm("token_norm.weight");
  for (std::uint32_t layer = 0; layer < layers; ++layer) norm("blk." + std::to_string(layer) + ".norm.weight");
  if (head) norm("output_norm.weight");
  g.output("y", x);
  auto graph = g.finish();
  EXPECT_TRUE(graph) << graph.error().text();
  auto plan = plan::compile(*graph, kOps, OpSet::of(Norms{}));
  EXPECT_TRUE(plan) << plan.error().text();
  return plan ? std::move(*plan) : plan::CompiledPlan();
}

constexpr std::uint64_t kPlenty = 1 << 20;

TEST(SplitRoom, CountsEveryRegisterWhereAllAreKept) {
  const plan::CompiledPlan p = chain(6, true, true);
  const auto cut = plan::split(p.plan, 2);
  ASSERT_TRUE(cut) << cut.error().text();
  const auto least = split::bytes_of_last(p, *cut, sizes_of());
  const auto kept = split::bytes_of_last(p, *cut, sizes_of(true));
  ASSERT_TRUE(least && kept);
  const std::vector<std::uint64_t> scratch(p.plan.instructions.size());
  std::uint64_t arenas = 0;
  for (const Extents& bounds : {rows(8), rows(1)}) {
    const auto mapping = plan::plan_memory(p.plan, p.liveness, *kOps.table, bounds, scratch, {.keep_values = true});
    ASSERT_TRUE(mapping) << mapping.error().text();
    arenas += mapping->arena_bytes;
  }
  // Three norms are the last part's weights.
  EXPECT_EQ(*kept, arenas + 3 * kWidth * sizeof(float));
  EXPECT_LT(*least, *kept);
}

TEST(SplitRoom, CutsAPlanThatBeginsOrEndsWithALayer) {
  const exec::PlanSizes sizes = sizes_of();
  const auto whole = split::split_to_fit(chain(4, true, true), sizes, kPlenty);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->last_layers, 4u);
  const auto no_embedding = split::split_to_fit(chain(4, false, true), sizes, kPlenty);
  ASSERT_TRUE(no_embedding) << no_embedding.error().text();
  EXPECT_EQ(no_embedding->last_layers, 3u);
  const auto no_head = split::split_to_fit(chain(4, true, false), sizes, kPlenty);
  ASSERT_TRUE(no_head) << no_head.error().text();
  EXPECT_EQ(no_head->last_layers, 4u);
  const auto no_room = split::split_to_fit(chain(4, true, false), sizes, 16);
  ASSERT_FALSE(no_room);
  EXPECT_EQ(no_room.error().code(), Errc::out_of_memory);
  const auto no_layers = split::split_to_fit(chain(0, true, true), sizes, kPlenty);
  ASSERT_FALSE(no_layers);
  EXPECT_EQ(no_layers.error().code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace split_room_test
