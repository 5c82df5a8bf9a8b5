// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_rope.cpp: rotary positions from the forms that exporters write, and near misses that stay.
#include <support/fusion_program.hpp>

namespace pass_rope_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<T>;
using Ops = std::vector<std::string>;

constexpr double kBound = 1e-5;
constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kHead = 8;
constexpr std::int64_t kHalf = kHead / 2;
const std::vector<Shape> kHeads{{2, 3, 5, 8}};

struct Tables {
  T cos;
  T sin;
};
/// cos and sin of t · speed · base^(-2i/n), `copies` times side by side, in the C library's f32.
Tables tables(B& b, int copies, std::int64_t pairs = kHalf, double base = 10000.0, double speed = 1.0,
              bool twice_as_fast_sin = false) {
  std::vector<float> cosines;
  std::vector<float> sines;
  for (std::int64_t t = 0; t < kTokens; ++t)
    for (int copy = 0; copy < copies; ++copy)
      for (std::int64_t i = 0; i < pairs; ++i) {
        const float frequency =
            static_cast<float>(speed * std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs)));
        const float angle = static_cast<float>(t) * frequency;
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(twice_as_fast_sin ? 2 * angle : angle));
      }
  const std::int64_t width = copies * pairs;
  return {b.constant({kTokens, width}, cosines), b.constant({1, 1, kTokens, width}, sines)};
}
T part(B& b, const T& x, std::int64_t start, std::int64_t size) {
  return b.slice(x, {0, 0, 0, start}, {2, 3, kTokens, size});
}
T rotate_half(B& b, const T& x, const Tables& t) {
  const T turned = b.concat({-part(b, x, kHalf, kHalf), part(b, x, 0, kHalf)}, -1);
  return x * t.cos + turned * t.sin;
}
T by_halves(B& b, const T& x, const Tables& t) {
  const T a = part(b, x, 0, kHalf);
  const T c = part(b, x, kHalf, kHalf);
  return b.concat({a * t.cos - c * t.sin, t.cos * c + a * t.sin}, -1);
}
T by_pairs(B& b, const T& x, const Tables& t) {
  const T pairs = b.reshape(x, {2, 3, kTokens, kHalf, 2});
  const auto of = [&](std::int64_t k) {
    return b.reshape(b.slice(pairs, {0, 0, 0, 0, k}, {2, 3, kTokens, kHalf, 1}), {2, 3, kTokens, kHalf});
  };
  const auto up = [&](const T& y) { return b.reshape(y, {2, 3, kTokens, kHalf, 1}); };
  const T y = b.concat({up(of(0) * t.cos - of(1) * t.sin), up(of(0) * t.sin + of(1) * t.cos)}, -1);
  return b.reshape(y, {2, 3, kTokens, kHead});
}

void expect_rope(const char* what, const BuildProgram& build, const std::vector<Shape>& shapes = kHeads,
                 const Ops& ops = {"constant", "reshape", "rope", "reshape"}) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.ops, ops);
  EXPECT_LE(r.worst, kBound);
  EXPECT_GT(r.worst, 0.0);  // the op's own cosines
}
void expect_none(const char* what, const BuildProgram& build) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(kHeads, build);
  EXPECT_EQ(r.count("rope"), 0u);
  EXPECT_FALSE(r.ops.empty());
  EXPECT_EQ(r.worst, 0.0);
}

TEST(FuseRope, ItsForms) {
  expect_rope("a half negated and changed over",
              [](B& b, const In& in) { return rotate_half(b, in[0], tables(b, 2)); });
  expect_rope("the same, -1 times the half, the sum the other way round", [](B& b, const In& in) {
    const Tables t = tables(b, 2);
    const T turned = b.concat({part(b, in[0], kHalf, kHalf) * -1.0, part(b, in[0], 0, kHalf)}, -1);
    return t.sin * turned + t.cos * in[0];
  });
  expect_rope("each half turned", [](B& b, const In& in) { return by_halves(b, in[0], tables(b, 1)); });
  expect_rope("pairs side by side", [](B& b, const In& in) { return by_pairs(b, in[0], tables(b, 1)); });
  expect_rope("another base", [](B& b, const In& in) { return by_halves(b, in[0], tables(b, 1, kHalf, 500000.0)); });
  // Neither is a power of a base: each pair has a factor.
  expect_rope("slower in all", [](B& b, const In& in) { return by_halves(b, in[0], tables(b, 1, kHalf, 1e4, 0.3)); });
}

TEST(FuseRope, TurnsHeadsWhereTheyCameFrom) {
  expect_rope("heads brought before the positions",
              [](B& b, const In& in) { return rotate_half(b, b.transpose(in[0], {0, 2, 1, 3}), tables(b, 2)); },
              {{2, 5, 3, 8}}, {"constant", "reshape", "rope", "reshape", "transpose"});
}

TEST(FuseRope, TakesInWhatDoesNotTurn) {
  expect_rope("the first half of a head", [](B& b, const In& in) {
    const Tables t = tables(b, 2, kHalf / 2);
    const T x = part(b, in[0], 0, kHalf);
    const T turned = b.concat({-part(b, x, kHalf / 2, kHalf / 2), part(b, x, 0, kHalf / 2)}, -1);
    return b.concat({x * t.cos + turned * t.sin, part(b, in[0], kHalf, kHalf)}, -1);
  });
}

TEST(FuseRope, LeavesWhatDoesNotTurnBesideFeaturesThatDoNotBeginTheHead) {
  const FusionResult r = fuse(kHeads, [](B& b, const In& in) {
    const Tables t = tables(b, 2, kHalf / 2);
    const T x = part(b, in[0], kHalf / 2, kHalf);
    const T turned = b.concat({-part(b, x, kHalf / 2, kHalf / 2), part(b, x, 0, kHalf / 2)}, -1);
    return b.concat({x * t.cos + turned * t.sin, part(b, in[0], kHalf, kHalf)}, -1);
  });
  EXPECT_EQ(r.count("rope"), 1u);
  EXPECT_EQ(r.count("concat"), 1u);
  EXPECT_LE(r.worst, kBound);
}

TEST(FuseRope, NearMisses) {
  expect_none("the other half negated", [](B& b, const In& in) {
    const Tables t = tables(b, 2);
    const T turned = b.concat({part(b, in[0], kHalf, kHalf), -part(b, in[0], 0, kHalf)}, -1);
    return in[0] * t.cos + turned * t.sin;
  });
  expect_none("halves not changed over", [](B& b, const In& in) {
    const Tables t = tables(b, 2);
    const T turned = b.concat({-part(b, in[0], 0, kHalf), part(b, in[0], kHalf, kHalf)}, -1);
    return in[0] * t.cos + turned * t.sin;
  });
  expect_none("cosines and sines of different angles",
              [](B& b, const In& in) { return by_halves(b, in[0], tables(b, 1, kHalf, 1e4, 1.0, true)); });
  expect_none("tables that are no rotation", [](B& b, const In& in) {
    const T c = b.constant({kTokens, kHalf}, random_floats(kTokens * kHalf, 7));
    return by_halves(b, in[0], {c, b.constant({kTokens, kHalf}, random_floats(kTokens * kHalf, 8))});
  });
  expect_none("the two copies of a table differ",
              [](B& b, const In& in) { return rotate_half(b, in[0], tables(b, 1, kHead)); });
  expect_none("the turned half is read elsewhere", [](B& b, const In& in) {
    const Tables t = tables(b, 2);
    const T turned = b.concat({-part(b, in[0], kHalf, kHalf), part(b, in[0], 0, kHalf)}, -1);
    return (in[0] * t.cos + turned * t.sin) + turned;
  });
  expect_none("added, where a rotation subtracts", [](B& b, const In& in) {
    const Tables t = tables(b, 1);
    const T a = part(b, in[0], 0, kHalf);
    const T c = part(b, in[0], kHalf, kHalf);
    return b.concat({a * t.cos + c * t.sin, c * t.cos + a * t.sin}, -1);
  });
  expect_none("halves of two tensors", [](B& b, const In& in) {
    const Tables t = tables(b, 1);
    const T a = part(b, in[0], 0, kHalf);
    const T c = part(b, b.exp(in[0]), kHalf, kHalf);
    return b.concat({a * t.cos - c * t.sin, t.cos * c + a * t.sin}, -1);
  });
  expect_none("positions from 1 on", [](B& b, const In& in) {
    const Tables t = tables(b, 1);
    const T c = b.concat({b.slice(t.cos, {1, 0}, {kTokens - 1, kHalf}), b.slice(t.cos, {0, 0}, {1, kHalf})}, 0);
    return by_halves(b, in[0], {c, t.sin});
  });
}

}  // namespace
}  // namespace pass_rope_test
