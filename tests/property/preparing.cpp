// SPDX-License-Identifier: Apache-2.0
// tests/property/preparing.cpp: places and hazards are those that trying everything finds, and preparing takes time in proportion to the instructions.
#include <zrt/backend/reference.hpp>
#include <zrt/exec/hazards.hpp>
#include <zrt/exec/program_runner.hpp>
#include <zrt/ir/ptir/builder.hpp>
#include <zrt/plan/compile.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <limits>
#include <support/random_graph.hpp>

namespace preparing_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using plan::detail::LivePiece;
using plan::detail::Storage;

// --- places ---

std::vector<LivePiece> pieces_of(const Storage& storage, std::size_t block, std::uint64_t base) {
  std::vector<LivePiece> pieces;
  for (std::uint32_t p = storage.blocks[block].pieces; p != Storage::kNone; p = storage.pieces[p].next) {
    pieces.push_back(storage.pieces[p]);
    pieces.back().begin += base;
    pieces.back().end += base;
  }
  return pieces;
}

bool meet(const LivePiece& a, const LivePiece& b) {
  return a.first <= b.last && b.first <= a.last && a.begin < b.end && b.begin < a.end;
}

/// Tries every place for one block after the other.
struct Tried {
  std::vector<std::uint64_t> base;
  std::uint64_t arena_bytes = 0;
};
Tried try_all(const Storage& storage, bool by_size, bool smallest) {
  std::vector<std::size_t> order(storage.blocks.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (by_size)
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return storage.blocks[a].bytes > storage.blocks[b].bytes; });
  Tried out{std::vector<std::uint64_t>(order.size()), 0};
  std::vector<LivePiece> placed;
  for (std::size_t block : order) {
    if (storage.blocks[block].pieces == Storage::kNone) continue;
    const auto fits = [&](std::uint64_t base) {
      for (const LivePiece& mine : pieces_of(storage, block, base))
        for (const LivePiece& other : placed)
          if (meet(mine, other)) return false;
      return true;
    };
    std::uint64_t chosen = 0, least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t base = 0; base <= out.arena_bytes; base += plan::kArenaAlign) {
      if (!fits(base)) continue;
      std::uint64_t end = base;
      while (end <= out.arena_bytes && fits(end)) end += plan::kArenaAlign;
      // The last gap has no end.
      const std::uint64_t room = end > out.arena_bytes ? std::numeric_limits<std::uint64_t>::max() - 1 : end - base;
      if (room < least) {
        least = room;
        chosen = base;
        if (!smallest) break;
      }
      base = end;
    }
    out.base[block] = chosen;
    out.arena_bytes = std::max(out.arena_bytes, chosen + storage.blocks[block].bytes);
    for (const LivePiece& piece : pieces_of(storage, block, chosen)) placed.push_back(piece);
  }
  return out;
}

void expect_same(const Storage& storage, plan::Fit fit, const Tried& tried) {
  const auto placed = plan::detail::place(storage, fit, system_allocator());
  ASSERT_TRUE(placed) << placed.error().text();
  EXPECT_EQ(placed->arena_bytes, tried.arena_bytes) << name(fit);
  for (std::size_t i = 0; i < tried.base.size(); ++i) ASSERT_EQ(placed->base[i], tried.base[i]) << name(fit) << i;
}

/// What random plans keep in memory: views, parts of views, results in place and workspaces among them.
template <class Check> void for_storages(Check check) {
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    auto graph = random_graph(seed + 5000, 5 + seed % 60);
    ASSERT_TRUE(graph) << graph.error().text();
    const auto compiled = plan::compile(graph->graph, catalog_ops(), reference_claims());
    ASSERT_TRUE(compiled) << compiled.error().text();
    const Extents bounds = extents(3, 2);
    std::vector<std::uint64_t> bytes, scratch(compiled->plan.instructions.size());
    for (const TensorType& type : compiled->plan.registers) bytes.push_back(*plan::register_bytes(type, bounds));
    std::mt19937 random(seed);
    for (std::uint64_t& s : scratch) s = random() % 3 == 0 ? random() % 500 : 0;
    const auto storage =
        plan::detail::Sharing(compiled->plan, compiled->liveness, *catalog_ops().table, bytes, {}).run(scratch);
    ASSERT_TRUE(storage);
    ASSERT_NO_FATAL_FAILURE(check(*storage));
  }
}

TEST(Preparing, BlocksLieWhereTryingEveryPlacePutsThem) {
  for_storages([](const Storage& storage) {
    const Tried lowest = try_all(storage, false, false);
    expect_same(storage, plan::Fit::first, lowest);
    const Tried smallest = try_all(storage, false, true);
    expect_same(storage, plan::Fit::best, smallest);
    const Tried* least = &lowest;
    const Tried by_size = try_all(storage, true, false);
    const Tried by_size_smallest = try_all(storage, true, true);
    for (const Tried* other : {&by_size, &smallest, &by_size_smallest})
      if (other->arena_bytes < least->arena_bytes) least = other;
    expect_same(storage, plan::Fit::least, *least);
  });
}

// --- hazards ---

struct Touched {
  std::uint64_t begin, end;
  bool write;
};

std::vector<Touched> touched(const plan::ExecutionPlan& plan, const plan::PhysicalMapping& mapping, std::size_t i) {
  std::vector<Touched> out;
  const auto add = [&](const plan::PhysicalSpec& spec, bool write) {
    out.push_back({spec.offset, spec.offset + spec.size, write});
  };
  for (plan::RegisterRef r : plan.instruction(i).inputs)
    if (r != plan::kNoRegister) add(mapping.of(r), false);
  for (plan::RegisterRef r : plan.instruction(i).outputs) add(mapping.of(r), true);
  if (const std::uint16_t s = mapping.scratch_to_physical[i]; s != plan::PhysicalMapping::kNoScratch)
    add(mapping.physical_specs[s], true);
  return out;
}

bool conflict(const plan::ExecutionPlan& plan, const plan::PhysicalMapping& mapping, std::size_t a, std::size_t b) {
  const auto state = plan.instruction(a).state_block_id;
  if (state && state == plan.instruction(b).state_block_id) return true;
  for (const Touched& x : touched(plan, mapping, a))
    for (const Touched& y : touched(plan, mapping, b))
      if ((x.write || y.write) && x.begin < y.end && y.begin < x.end) return true;
  return false;
}

TEST(Preparing, AnInstructionWaitsForTheLatestThatTouchesTheSame) {
  std::size_t waits = 0;
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    auto graph = random_graph(seed + 9000, 5 + seed % 60);
    ASSERT_TRUE(graph) << graph.error().text();
    const auto compiled = plan::compile(graph->graph, catalog_ops(), reference_claims());
    ASSERT_TRUE(compiled) << compiled.error().text();
    const plan::ExecutionPlan& plan = compiled->plan;
    std::vector<std::uint64_t> scratch(plan.instructions.size());
    std::mt19937 random(seed);
    for (std::uint64_t& s : scratch) s = random() % 3 == 0 ? random() % 500 : 0;
    const auto mapping = plan::plan_memory(plan, compiled->liveness, *catalog_ops().table, extents(3, 2), scratch);
    ASSERT_TRUE(mapping) << mapping.error().text();
    exec::Hazards hazards(system_allocator());
    ASSERT_TRUE(hazards.begin(*mapping));
    for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
      std::uint32_t expected = exec::Hazards::kNone;
      for (std::size_t k = 0; k < i; ++k)
        if (conflict(plan, *mapping, k, i)) expected = static_cast<std::uint32_t>(k);
      ASSERT_EQ(hazards.follow(plan, *mapping, i), expected) << i;
      waits += expected != exec::Hazards::kNone && expected + 1 != i ? 1u : 0u;
    }
  }
  EXPECT_GT(waits, 100u) << "that an instruction waits for the one before it is no proof";
}

// --- time ---

using Builder = ir::ptir::Builder;
using Tensor = ir::ptir::Tensor;
using Build = std::function<void(Builder&, const Tensor&, std::uint32_t)>;

/// Processor time of making a program of `count` instructions ready: the least of three.
double seconds(const Build& build, std::uint32_t count) {
  double least = std::numeric_limits<double>::max();
  for (int round = 0; round < 3; ++round) {
    Builder b;
    build(b, b.parameter({DType::f32, {16}}, "x"), count);
    const auto program = b.finish();
    EXPECT_TRUE(program) << program.error().text();
    if (!program) return 0;
    const std::clock_t before = std::clock();
    const auto runner = ProgramRunner<ReferenceBackend>::make(*program, std::vector<ir::ptir::Shape>{{16}});
    EXPECT_TRUE(runner) << runner.error().text();
    least = std::min(least, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC);
  }
  return least;
}

TEST(Preparing, TakesTimeInProportionToTheInstructions) {
  const std::pair<const char*, Build> shapes[] = {
      {"a chain",
       [](Builder& b, const Tensor& x, std::uint32_t count) {
         Tensor y = x;
         for (std::uint32_t i = 0; i < count; ++i) y = i % 2 == 0 ? b.add(y, x) : b.mul(y, x);
         b.result(y);
       }},
      {"a constant for each second instruction",
       [](Builder& b, const Tensor& x, std::uint32_t count) {
         Tensor y = x;
         for (std::uint32_t i = 0; i < count / 2; ++i) {
           std::array<float, 16> data{};
           for (std::uint32_t k = 0; k < 16; ++k) data[k] = static_cast<float>(i + k);
           y = b.add(y, b.constant({16}, Span<const float>(data)));
         }
         b.result(y);
       }},
      {"half of all results alive at the same time", [](Builder& b, const Tensor& x, std::uint32_t count) {
         std::vector<Tensor> alive{x};
         for (std::uint32_t i = 0; i < count / 2; ++i) alive.push_back(b.add(alive.back(), x));
         Tensor sum = alive.back();
         for (std::uint32_t i = 0; i < count / 2; ++i) sum = b.add(sum, alive[i]);
         b.result(sum);
       }}};
  // Four times the instructions leave the caches, and a quadratic pass takes sixteen times as long.
  constexpr double kMost = 9;
  for (const auto& [name, build] : shapes) {
    double few = seconds(build, 4000);
    double many = seconds(build, 16000);
    // Other processes may have had the caches.
    for (int again = 0; again < 2 && many >= kMost * few; ++again) {
      few = std::min(few, seconds(build, 4000));
      many = std::min(many, seconds(build, 16000));
    }
    EXPECT_LT(many, kMost * few) << name << ": " << few << " s and " << many << " s";
  }
}

}  // namespace
}  // namespace preparing_test
