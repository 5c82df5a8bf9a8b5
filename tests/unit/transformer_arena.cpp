// SPDX-License-Identifier: Apache-2.0
// tests/unit/transformer_arena.cpp: peak memory of transformer blocks and of a GPT-2 of two layers.
//
// The bounds are those of the graph runtime's design log ("Memory-Aware Topological Ordering"), for
// attention whose scratch is a few rows instead of a matrix of scores.
#include "../../bench/graph/rows.hpp"
#include <zrt/ir/onnx.hpp>
#include <zrt/ops/attention.hpp>
#include <zrt/ops/constant.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/layer_norm.hpp>
#include <zrt/ops/linear.hpp>
#include <zrt/ops/reshape.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/slice.hpp>
#include <zrt/ops/transpose.hpp>
#include <zrt/plan/compile.hpp>
#include <zrt/plan/memory.hpp>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <programs.hpp>
#include <random>
#include <support/fusion_program.hpp>
#include <support/run_plan.hpp>
#include <vector>

namespace transformer_arena_test {
namespace {

using namespace zrt;
using namespace zrt::test;

constexpr std::uint64_t kKiB = 1024;
constexpr double kMiB = 1024.0 * 1024.0;

struct Size {
  std::uint32_t dim, tokens, heads;
};

/// Layers of pre-norm attention and a feed-forward of four times the width, without data.
class Model {
 public:
  explicit Model(Size size) : size_(size) {
    const std::uint32_t d = size.dim;
    weights_.add("vector", DType::f32, {d}, {});
    weights_.add("square", DType::f32, {d, d}, {});
    weights_.add("up", DType::f32, {4 * d, d}, {});
    weights_.add("up.bias", DType::f32, {4 * d}, {});
    weights_.add("down", DType::f32, {d, 4 * d}, {});
    weights_.add("positions", DType::f32, {1024, d}, {});
    weights_.add("words", DType::f32, {kWords, d}, {});
  }

  [[nodiscard]] Result<ir::Graph> block() {
    ir::Builder g(*catalog_ops().table, system_allocator(), weights_.lookup());
    const auto x = g.input("x", {DType::f32, {size_.tokens, size_.dim}});
    g.output("y", layer(g, x));
    return g.finish();
  }
  [[nodiscard]] Result<ir::Graph> gpt2(std::uint32_t layers) {
    ir::Builder g(*catalog_ops().table, system_allocator(), weights_.lookup());
    const auto ids = g.input("ids", {DType::si32, {size_.tokens}});
    const auto at = g.input("at", {DType::si32, {size_.tokens}});
    const auto words = g.emit<ops::Embedding>({.in = {ids}, .w = {g.weight("words", {kWords, size_.dim})}})[0];
    const auto places = g.emit<ops::Embedding>({.in = {at}, .w = {g.weight("positions", {1024, size_.dim})}})[0];
    auto x = g.emit<ops::ResidualAdd>({.in = {words, places}})[0];
    for (std::uint32_t i = 0; i < layers; ++i) x = layer(g, x);
    g.output("logits", g.emit<ops::Linear>({.in = {norm(g, x)}, .w = {g.weight("words", {kWords, size_.dim})}})[0]);
    return g.finish();
  }
  static constexpr std::uint32_t kWords = 50257;

 private:
  ir::ValueId norm(ir::Builder& g, ir::ValueId x) {
    auto vector = [&] { return g.emit<ops::Constant>({.in = {}, .w = {g.weight("vector", {size_.dim})}})[0]; };
    const auto gamma = vector();
    return g.emit<ops::LayerNorm>({.in = {x, gamma, vector()}, .params = {.feature_axis = 1}})[0];
  }
  ir::ValueId square(ir::Builder& g, ir::ValueId x) {
    return g.emit<ops::Linear>(
        {.in = {x}, .w = {g.weight("square", {size_.dim, size_.dim}), g.weight("vector", {size_.dim})}})[0];
  }
  /// [tokens, heads, head dim] to [heads, tokens, head dim], and back.
  ir::ValueId swap(ir::Builder& g, ir::ValueId x) {
    return g.emit<ops::Transpose>({.in = {x}, .params = {{1, 0, 2}, 3}})[0];
  }
  ir::ValueId layer(ir::Builder& g, ir::ValueId x) {
    const std::uint32_t d = size_.dim;
    const std::uint32_t head_dim = d / size_.heads;
    const auto normed = norm(g, x);
    auto heads = [&] {
      const Shape split{size_.tokens, size_.heads, head_dim};
      return swap(g, g.emit<ops::Reshape>({.in = {square(g, normed)}, .params = {ShapeParams::of(split)}})[0]);
    };
    const auto q = heads();
    const auto k = heads();
    const auto attended = g.emit<ops::Attention>({.in = {q, k, heads()}, .params = {.scale = 0.125f, .causal = 1}})[0];
    const auto merged =
        g.emit<ops::Reshape>({.in = {swap(g, attended)}, .params = {ShapeParams::of({size_.tokens, d})}})[0];
    const auto mid = g.emit<ops::ResidualAdd>({.in = {x, square(g, merged)}})[0];
    const auto up =
        g.emit<ops::Linear>({.in = {norm(g, mid)}, .w = {g.weight("up", {4 * d, d}), g.weight("up.bias", {4 * d})}})[0];
    const auto act = g.emit<ops::GatedAct>({.in = {up}, .params = {Activation::gelu_tanh}})[0];
    const auto down =
        g.emit<ops::Linear>({.in = {act}, .w = {g.weight("down", {d, 4 * d}), g.weight("vector", {d})}})[0];
    return g.emit<ops::ResidualAdd>({.in = {mid, down}})[0];
  }

  Size size_;
  Weights weights_;
};

std::uint64_t arena_bytes(const Result<ir::Graph>& graph, plan::Ordering ordering, plan::Fit fit = plan::Fit::least) {
  EXPECT_TRUE(graph) << graph.error().text();
  const auto p = plan::compile(*graph, catalog_ops(), reference_claims(), {.ordering = ordering});
  EXPECT_TRUE(p) << p.error().text();
  const auto scratch = reference_scratch(*p, {});
  const auto mapping = plan::plan_memory(p->plan, p->liveness, *catalog_ops().table, {}, scratch, {fit});
  EXPECT_TRUE(mapping) << mapping.error().text();
  const auto proof = plan::check_memory(p->plan, *catalog_ops().table, {}, *mapping);
  EXPECT_TRUE(proof) << proof.error().text();
  return mapping->arena_bytes;
}

constexpr std::array kOrderings{plan::Ordering::program, plan::Ordering::freed_bytes, plan::Ordering::lazy_rescore};

struct BoundedBlock {
  const char* name;
  Size size;
  double bound;
};
constexpr std::array kBlocks{
    BoundedBlock{"toy", {64, 32, 4}, 48.0 * kKiB}, BoundedBlock{"small", {256, 128, 4}, 768.0 * kKiB},
    BoundedBlock{"medium", {512, 256, 8}, 3.1 * kMiB}, BoundedBlock{"GPT-2", {768, 512, 12}, 9.2 * kMiB}};

TEST(TransformerArena, OneBlock) {
  for (const BoundedBlock& row : kBlocks)
    for (const plan::Ordering ordering : kOrderings) {
      const std::uint64_t bytes = arena_bytes(Model(row.size).block(), ordering);
      RecordProperty(std::string(row.name) + "." + std::to_string(static_cast<int>(ordering)), std::to_string(bytes));
      EXPECT_LE(static_cast<double>(bytes), row.bound) << row.name << ", ordering " << static_cast<int>(ordering);
    }
}

/// The block in primitives, as a program is written: what the passes leave of it is what the CPU runs.
TEST(TransformerArena, OneBlockInPrimitivesOnTheCpu) {
  for (const BoundedBlock& row : kBlocks) {
    const std::size_t d = row.size.dim;
    // All different, or equal weights would become one.
    std::vector<float> weights(12 * d * d + 13 * d);
    std::mt19937 random(1);
    for (float& w : weights) w = static_cast<float>(random() % 4001) / 40000.0f;
    const auto program = bench::program_of({1, row.size.tokens, row.size.dim}, weights);
    ASSERT_TRUE(program) << program.error().text();
    const ir::ptir::Shape shapes[]{program->regions[0].parameters[0].type.shape};
    const auto runner = ProgramRunner<engines::CpuPrograms>::make(*program, shapes);
    ASSERT_TRUE(runner) << runner.error().text();
    EXPECT_LE(static_cast<double>(runner->mapping().arena_bytes), row.bound) << row.name;
  }
}

/// How the projections to queries, keys and values are written: three, one whose columns are split, one whose parts are
/// brought forward before one is taken after the other.
enum class Projections : std::uint8_t { three, split, permuted };

/// The block as PyTorch writes it, whose norms begin alike: their weights become one constant for both.
Result<ir::ptir::Program> exported_block(const Size& size, Projections how) {
  PtirBuilder b;
  const std::int64_t d = size.dim, tokens = size.tokens, heads = size.heads;
  std::mt19937 random(1);
  const auto weights = [&](std::int64_t rows, std::int64_t cols) {
    std::vector<float> data(static_cast<std::size_t>(rows * cols));
    for (float& w : data) w = static_cast<float>(random() % 4001) / 40000.0f;
    return b.constant({rows, cols}, data);
  };
  const auto linear = [&](const PtirTensor& x, std::int64_t from, std::int64_t to) {
    const auto y = b.dot(x, weights(from, to));
    return b.add(y, b.reshape(weights(1, to), {to}));
  };
  const auto norm = [&](const PtirTensor& x) {
    const auto all = [&](float value) { return b.constant({d}, std::vector<float>(size.dim, value)); };
    const auto gamma = all(1.0f);
    return b.layer_norm(x, gamma, all(0.0f));
  };
  const auto x = b.parameter({DType::f32, {1, tokens, d}}, "x");
  const auto normed = norm(x);
  const auto turned = [&](const PtirTensor& part) {
    return b.transpose(b.reshape(part, {1, tokens, heads, d / heads}), {0, 2, 1, 3});
  };
  std::vector<PtirTensor> qkv;
  if (how == Projections::three) {
    for (int i = 0; i < 3; ++i) qkv.push_back(turned(linear(normed, d, d)));
  } else {
    const auto all = linear(normed, d, 3 * d);
    const auto forward = b.transpose(b.reshape(all, {1, tokens, 3, heads, d / heads}), {2, 0, 3, 1, 4});
    for (std::int64_t i = 0; i < 3; ++i)
      qkv.push_back(how == Projections::split
                        ? turned(b.slice(all, {0, 0, i * d}, {1, tokens, d}))
                        : b.reshape(b.slice(forward, {i, 0, 0, 0, 0}, {1, 1, heads, tokens, d / heads}),
                                    {1, heads, tokens, d / heads}));
  }
  const auto scores = b.dot_general(
      qkv[0], qkv[1], {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {3}});
  const auto p = b.softmax(b.mul(scores, b.scalar(DType::f32, 0.25)));
  const auto mixed =
      b.dot_general(p, qkv[2], {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
  const auto mid = b.add(x, linear(b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {1, tokens, d}), d, d));
  const auto wide = bench::relu(b, linear(norm(mid), d, 4 * d));
  b.result(b.add(mid, linear(wide, 4 * d, d)));
  return b.finish();
}

/// The arena on either backend is within `bound`, and nothing is left that copies columns.
void expect_within(const Result<ir::ptir::Program>& program, const Size& size, double bound) {
  ASSERT_TRUE(program) << program.error().text();
  const ir::ptir::Shape shapes[]{{1, size.tokens, size.dim}};
  const auto expect = [&](const auto& runner) {
    ASSERT_TRUE(runner) << runner.error().text();
    EXPECT_LE(static_cast<double>(runner->mapping().arena_bytes), bound);
    for (const plan::InstructionRecord& insn : runner->compiled().plan.instructions)
      EXPECT_NE(insn.opcode, ops::Slice::opcode);
  };
  expect(ProgramRunner<engines::CpuPrograms>::make(*program, shapes));
  expect(ProgramRunner<engines::ReferencePrograms>::make(*program, shapes));
}

TEST(TransformerArena, OneBlockWithAProjectionForAllOrForEach) {
  for (const BoundedBlock& row : kBlocks)
    for (const Projections how : {Projections::three, Projections::split, Projections::permuted}) {
      SCOPED_TRACE(std::string(row.name) + ", projections " + std::to_string(static_cast<int>(how)));
      expect_within(exported_block(row.size, how), row.size, row.bound);
    }
}

TEST(TransformerArena, TheSmallestBlockAsPyTorchExportedIt) {
  for (const char* const name : {"block_toy_separate", "block_toy_fused"}) {
    SCOPED_TRACE(name);
    std::ifstream file(std::string(ZRT_TEST_DATA_DIR "/onnx/") + name + "/model.onnx", std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    expect_within(ir::onnx::read(std::as_bytes(std::span(bytes))), kBlocks[0].size, kBlocks[0].bound);
  }
}

TEST(TransformerArena, Gpt2OfTwoLayersNeedsItsLogitsAndWhatTheyAreMadeOf) {
  for (const std::uint32_t tokens : {16u, 64u, 256u})
    for (const plan::Ordering ordering : kOrderings) {
      const std::uint64_t bytes = arena_bytes(Model({768, tokens, 12}).gpt2(2), ordering);
      EXPECT_EQ(bytes, 4ull * tokens * (Model::kWords + 768)) << tokens << ", ordering " << static_cast<int>(ordering);
    }
}

}  // namespace
}  // namespace transformer_arena_test
