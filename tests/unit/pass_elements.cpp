// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_elements.cpp: functions of single elements become one pass, and repeated operands are read in place.
#include <support/fusion_program.hpp>

namespace pass_elements_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<PtirTensor>;
using Ops = std::vector<std::string>;

void expect_one(const char* what, const std::vector<Shape>& shapes, const BuildProgram& build, std::size_t chains = 1) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.chains, chains);
  EXPECT_EQ(r.count("broadcast_to"), 0u);
  EXPECT_EQ(r.worst, 0.0);
}

TEST(FuseElements, ItsForms) {
  expect_one("a hard swish", {{3, 70}}, [](B& b, const In& in) {
    const T line = in[0] * (1.0 / 6) + 0.5;
    return in[0] * b.maximum(b.scalar(DType::f32, 0.0), b.minimum(b.scalar(DType::f32, 1.0), line));
  });
  expect_one("a factor of each channel of each image", {{2, 3, 4, 90}, {2, 3, 1, 1}},
             [](B&, const In& in) { return in[0] * in[1]; });
  expect_one("a row, a column and a number", {{7, 300}, {300}, {7, 1}},
             [](B& b, const In& in) { return b.tanh((in[0] - in[1]) / in[2] * 3.0); });
  expect_one("two that nothing repeats", {{5, 6}, {5, 6}}, [](B& b, const In& in) { return b.exp(in[0] + in[1]); });
  expect_one("a square of what is made", {{5, 6}, {6}}, [](B&, const In& in) {
    const T y = in[0] + in[1];
    return y * y;
  });
  expect_one("outer sums", {{300, 1}, {1, 7}}, [](B&, const In& in) { return in[0] + in[1]; });
  expect_one("bounds", {{40, 40}}, [](B& b, const In& in) {
    return b.clamp(in[0], b.broadcast_to(b.constant(-0.5f), {40, 40}), b.broadcast_to(b.constant(0.5f), {40, 40}));
  });
  expect_one(
      "more than a chain holds", {{9, 9}},
      [](B& b, const In& in) {
        T y = in[0];
        for (int i = 0; i < 20; ++i) y = b.tanh(y + 0.01 * i);
        return y;
      },
      4);
}

TEST(FuseElements, NearMisses) {
  const FusionResult apart = fuse({{2, 3, 4}, {2, 1, 4}}, [](B&, const In& in) { return in[0] * in[1]; });
  EXPECT_EQ(apart.ops, (Ops{"broadcast_to", "elementwise_binary"})) << "axes apart are repeated before";
  const FusionResult read = fuse({{3, 5}}, [](B& b, const In& in) {
    const T y = b.exp(in[0]);
    return b.concat({y + b.tanh(in[0]), y}, 0);
  });
  EXPECT_EQ(read.count("elementwise_unary"), 2u) << "a value that others read is made once";
  const FusionResult whole = fuse({{3, 5}, {3, 5}}, [](B&, const In& in) { return in[0] * in[1]; });
  EXPECT_EQ(whole.chains, 0u);
  const FusionResult gated =
      fuse({{3, 5}, {3, 5}}, [](B& b, const In& in) { return in[0] / (b.exp(-in[0]) + 1.0) * in[1]; });
  EXPECT_EQ(gated.chains, 0u) << "one op already";
  const FusionResult half =
      fuse({{3, 5}}, [](B& b, const In& in) { return b.cast(b.exp(b.cast(in[0], DType::f16) * 0.5), DType::f32); });
  EXPECT_EQ(half.chains, 0u) << "of f32 alone";
}

}  // namespace
}  // namespace pass_elements_test
