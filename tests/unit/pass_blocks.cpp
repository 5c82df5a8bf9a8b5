// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_blocks.cpp: whole transformer blocks in primitives, and the few ops that they become.
#include <limits>
#include <map>
#include <support/fusion_program.hpp>

namespace pass_blocks_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<T>;
using Counts = std::map<std::string, std::size_t>;

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kTokens = 4;
constexpr std::int64_t kWidth = 8;
constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kHead = kWidth / kHeads;

/// Writes the parts of a block, with weights of their own.
class Block {
 public:
  explicit Block(B& builder) : b(builder) {}

  T vector(std::int64_t n) { return b.constant({n}, small(static_cast<std::size_t>(n))); }
  T project(const T& x, std::int64_t from, std::int64_t to) {
    const T w = b.constant({from, to}, small(static_cast<std::size_t>(from * to)));
    return b.dot(x, w);
  }
  T mean(const T& x) { return b.reduce_sum(x, {-1}, true) / double{kWidth}; }
  T layer_norm(const T& x) {
    const T c = x - mean(x);
    const T y = c * b.rsqrt(mean(c * c) + 1e-5);
    const T scaled = y * vector(kWidth);
    return scaled + vector(kWidth);
  }
  T rms_norm(const T& x) {
    const T y = x * b.rsqrt(mean(x * x) + 1e-6);
    return vector(kWidth) * y;
  }
  T heads(const T& x) { return b.transpose(b.reshape(x, {kBatch, kTokens, kHeads, kHead}), {0, 2, 1, 3}); }
  T together(const T& x) { return b.reshape(b.transpose(x, {0, 2, 1, 3}), {kBatch, kTokens, kWidth}); }
  T scores(const T& q, const T& k) {
    return b.dot_general(q, b.transpose(k, {0, 1, 3, 2}),
                         {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
  }
  T values(const T& p, const T& v) {
    return b.dot_general(p, v, {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
  }
  T seen() {
    const T query = b.reshape(b.iota({kTokens}, DType::si64, 0), {kTokens, 1});
    return b.ge(query, b.iota({kTokens}, DType::si64, 0));
  }
  T filled(float value, const ir::ptir::Shape& shape) {
    return b.broadcast_to(b.scalar(DType::f32, double{value}), shape);
  }

  B& b;

 private:
  std::vector<float> small(std::size_t count) {
    std::vector<float> data = random_floats(count, seed_++);
    for (float& x : data) x *= 0.3f;
    return data;
  }
  std::uint32_t seed_ = 1;
};

Counts counts(const FusionResult& r) {
  Counts found;
  for (const std::string& op : r.ops) ++found[op];
  return found;
}

const std::vector<Shape> kInput{{2, 4, 8}};

TEST(PassBlocks, ABlockOfGpt2) {
  const FusionResult r = fuse(kInput, [](B& b, const In& in) {
    Block block(b);
    const T x = in[0];
    const T qkv = block.project(block.layer_norm(x), kWidth, 3 * kWidth) + block.vector(3 * kWidth);
    const auto part = [&](std::int64_t i) {
      return block.heads(b.slice(qkv, {0, 0, i * kWidth}, {kBatch, kTokens, kWidth}));
    };
    const ir::ptir::Shape square{kTokens, kTokens};
    const T mask =
        b.select(block.seen(), block.filled(0.0f, square), block.filled(std::numeric_limits<float>::lowest(), square));
    const T s = block.scores(part(0), part(1)) / 2.0 + mask;
    const T e = b.exp(s - b.reduce_max(s, {-1}, true));
    const T attended = block.together(block.values(e / b.reduce_sum(e, {-1}, true), part(2)));
    const T h = x + (block.project(attended, kWidth, kWidth) + block.vector(kWidth));
    const T up = block.project(block.layer_norm(h), kWidth, 4 * kWidth) + block.vector(4 * kWidth);
    const T act = 0.5 * up * (b.tanh(0.7978845608028654 * (up + 0.044715 * (up * up * up))) + 1.0);
    return h + (block.project(act, 4 * kWidth, kWidth) + block.vector(kWidth));
  });
  EXPECT_EQ(counts(r), (Counts{{"attention", 1},
                               {"constant", 4},
                               {"elementwise_binary", 2},
                               {"gated_act", 1},
                               {"layer_norm", 2},
                               {"linear", 4},
                               {"reshape", 4},
                               {"slice", 3},
                               {"transpose", 4}}));
  EXPECT_LE(r.worst, 1e-5);
}

TEST(PassBlocks, ABlockWithRmsNormAndAGate) {
  const FusionResult r = fuse(kInput, [](B& b, const In& in) {
    Block block(b);
    const T x = in[0];
    const T normed = block.rms_norm(x);
    const auto part = [&] { return block.heads(block.project(normed, kWidth, kWidth)); };
    const T q = part();
    const T k = part();
    const ir::ptir::Shape all{kBatch, kHeads, kTokens, kTokens};
    const T s = b.select(b.broadcast_to(block.seen(), all), block.scores(q * 0.5, k),
                         block.filled(-std::numeric_limits<float>::infinity(), all));
    const T h = x + block.project(block.together(block.values(b.softmax(s), part())), kWidth, kWidth);
    const T second = block.rms_norm(h);
    const T gate = block.project(second, kWidth, 2 * kWidth);
    const T up = block.project(second, kWidth, 2 * kWidth);
    return h + block.project(gate * b.reciprocal(b.exp(-gate) + 1.0) * up, 2 * kWidth, kWidth);
  });
  EXPECT_EQ(counts(r), (Counts{{"attention", 1},
                               {"elementwise_binary", 2},
                               {"gated_act", 1},
                               {"linear", 7},
                               {"reshape", 4},
                               {"rms_norm", 2},
                               {"transpose", 4}}));
  EXPECT_LE(r.worst, 1e-5);
}

}  // namespace
}  // namespace pass_blocks_test
