// SPDX-License-Identifier: Apache-2.0
// tests/unit/pass_fusions.cpp: each fusion in several forms, what its plan holds then, and near misses that stay as they are.
#include <support/fusion_program.hpp>

namespace pass_fusions_test {
namespace {

using namespace zrt;
using namespace zrt::test;
using B = PtirBuilder;
using T = PtirTensor;
using In = std::vector<T>;
using Ops = std::vector<std::string>;

constexpr double kClose = 2e-6;

/// The plan is `ops`, and the result is what the plan without passes gives, to `bound`.
void expect_fused(const char* what, const std::vector<Shape>& shapes, const Ops& ops, const BuildProgram& build,
                  double bound = kClose) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.ops, ops);
  EXPECT_NE(r.plain, ops);
  EXPECT_LE(r.worst, bound);
}
/// No instruction of the plan is `op`, and the result keeps its bits.
void expect_kept(const char* what, const std::vector<Shape>& shapes, std::string_view op, const BuildProgram& build) {
  SCOPED_TRACE(what);
  const FusionResult r = fuse(shapes, build);
  EXPECT_EQ(r.count(op), 0u) << op;
  EXPECT_FALSE(r.ops.empty());
  EXPECT_EQ(r.worst, 0.0);
}

T exp_shifted(B& b, const T& x) { return b.exp(x - b.reduce_max(x, {-1}, true)); }

TEST(FuseSoftmax, ItsStableForms) {
  const std::vector<Shape> shapes{{2, 3, 5}};
  const Ops one{"softmax"};
  expect_fused("keepdims", shapes, one, [](B& b, const In& in) { return b.softmax(in[0]); }, 0.0);
  expect_fused(
      "reshaped", shapes, one,
      [](B& b, const In& in) {
        const T top = b.reshape(b.reduce_max(in[0], {2}), {2, 3, 1});
        const T e = b.exp(in[0] - b.broadcast_to(top, {2, 3, 5}));
        return e / b.reshape(b.reduce_sum(e, {-1}), {2, 3, 1});
      },
      0.0);
  expect_fused("times the reciprocal of the sum", shapes, one, [](B& b, const In& in) {
    const T e = exp_shifted(b, in[0]);
    return b.reciprocal(b.reduce_sum(e, {-1}, true)) * e;
  });
  expect_fused("times 1 / the spread sum", shapes, one, [](B& b, const In& in) {
    const T e = exp_shifted(b, in[0]);
    return e * (b.scalar(DType::f32, 1.0) / b.broadcast_to(b.reduce_sum(e, {-1}, true), {2, 3, 5}));
  });
  expect_fused("times 1 · the reciprocal of the sum", shapes, one, [](B& b, const In& in) {
    const T e = exp_shifted(b, in[0]);
    return e * (b.reciprocal(b.reduce_sum(e, {-1}, true)) * 1.0);
  });
  expect_fused(
      "the maximum takes no gradient", shapes, one,
      [](B& b, const In& in) {
        const T e = b.exp(in[0] - b.stop_gradient(b.reduce_max(in[0], {-1}, true)));
        return e / b.reduce_sum(e, {-1}, true);
      },
      0.0);
  expect_fused(
      "each exponential of its own", shapes, one,
      [](B& b, const In& in) { return exp_shifted(b, in[0]) / b.reduce_sum(exp_shifted(b, in[0]), {-1}, true); }, 0.0);
}

TEST(FuseSoftmax, NearMisses) {
  const std::vector<Shape> shapes{{3, 5}};
  expect_kept("nothing is subtracted", shapes, "softmax", [](B& b, const In& in) {
    const T e = b.exp(in[0]);
    return e / b.reduce_sum(e, {-1}, true);
  });
  expect_kept("another axis", shapes, "softmax", [](B& b, const In& in) {
    const T e = b.exp(in[0] - b.reduce_max(in[0], {0}, true));
    return e / b.reduce_sum(e, {0}, true);
  });
  expect_kept("the minimum", shapes, "softmax", [](B& b, const In& in) {
    const T e = b.exp(in[0] - b.reduce_min(in[0], {-1}, true));
    return e / b.reduce_sum(e, {-1}, true);
  });
  expect_kept("the exponentials are read elsewhere", shapes, "softmax", [](B& b, const In& in) {
    const T e = exp_shifted(b, in[0]);
    return e / b.reduce_sum(e, {-1}, true) + e;
  });
  expect_kept("times 2 · the reciprocal of the sum", shapes, "softmax", [](B& b, const In& in) {
    const T e = exp_shifted(b, in[0]);
    return e * (b.reciprocal(b.reduce_sum(e, {-1}, true)) * 2.0);
  });
  expect_kept("the sum of something else", shapes, "softmax",
              [](B& b, const In& in) { return exp_shifted(b, in[0]) / b.reduce_sum(in[0] + 9.0, {-1}, true); });
}

T vector_of(B& b, std::uint32_t n, std::uint32_t seed) { return b.constant({std::int64_t{n}}, random_floats(n, seed)); }

TEST(FuseRmsNorm, ItsForms) {
  const std::vector<Shape> shapes{{3, 8}};
  const Ops one{"rms_norm"};
  expect_fused(
      "x · rsqrt(sum / n + eps) · w", shapes, one,
      [](B& b, const In& in) {
        const T mean = b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0;
        return in[0] * b.rsqrt(mean + 1e-5) * vector_of(b, 8, 1);
      },
      0.0);
  expect_fused("w · (rsqrt(eps + sum · 1/n) · x), reduced axes dropped", shapes, one, [](B& b, const In& in) {
    const T mean = b.reshape(b.reduce_sum(in[0] * in[0], {1}), {3, 1}) * 0.125;
    return b.broadcast_to(vector_of(b, 8, 1), {3, 8}) * (b.rsqrt(b.scalar(DType::f32, 1e-6) + mean) * in[0]);
  });
  expect_fused("x / sqrt, the root by rsqrt", shapes, one, [](B& b, const In& in) {
    const T t = b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0 + 1e-5;
    return in[0] / b.reciprocal(b.rsqrt(t));
  });
  expect_fused("x / (t · rsqrt(t))", shapes, one, [](B& b, const In& in) {
    const T t = b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0 + 1e-5;
    return in[0] / (t * b.rsqrt(t));
  });
  // More products than lanes: the op adds squares that nothing rounded.
  expect_fused("a row of 100", {{3, 100}}, {"rms_norm"}, [](B& b, const In& in) {
    const T mean = b.reduce_sum(in[0] * in[0], {-1}, true) / 100.0;
    return in[0] * b.rsqrt(mean + 1e-5) * vector_of(b, 100, 1);
  });
  const FusionResult sign = fuse({{2, 8}}, [](B& b, const In& in) {
    const T x = in[0] * in[0] + 1.0;
    const T y =
        x * b.rsqrt(b.reduce_sum(x * x, {-1}, true) / 8.0 + 1e-5) * b.constant({8}, std::vector<float>(8, -0.0f));
    return b.select(b.lt(b.reciprocal(y), b.scalar(DType::f32, 0)), b.scalar(DType::f32, -1), b.scalar(DType::f32, 1));
  });
  EXPECT_EQ(sign.count("rms_norm"), 1u);
  EXPECT_EQ(sign.worst, 0.0);
  // A scale that only the step knows stays a product.
  expect_fused(
      "a scale of the step", {{3, 8}, {8}}, {"rms_norm", "elementwise_binary"},
      [](B& b, const In& in) { return in[0] * b.rsqrt(b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0 + 1e-5) * in[1]; },
      0.0);
}

TEST(FuseRmsNorm, NearMisses) {
  const std::vector<Shape> shapes{{3, 8}, {3, 8}};
  expect_kept("divided by another number", shapes, "rms_norm",
              [](B& b, const In& in) { return in[0] * b.rsqrt(b.reduce_sum(in[0] * in[0], {-1}, true) / 7.0 + 1e-5); });
  expect_kept("the squares of another value", shapes, "rms_norm",
              [](B& b, const In& in) { return in[0] * b.rsqrt(b.reduce_sum(in[1] * in[1], {-1}, true) / 8.0 + 1e-5); });
  expect_kept("a negative epsilon", shapes, "rms_norm", [](B& b, const In& in) {
    return in[0] * b.rsqrt(b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0 + -1e-5);
  });
  expect_kept("the scale is read elsewhere", shapes, "rms_norm", [](B& b, const In& in) {
    const T scale = b.rsqrt(b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0 + 1e-5);
    return in[0] * scale + scale;
  });
}

T centred(B& b, const T& x, double n) { return x - b.reduce_sum(x, {-1}, true) / n; }

TEST(FuseLayerNorm, ItsForms) {
  const std::vector<Shape> shapes{{2, 3, 8}};
  const Ops ops{"constant", "constant", "layer_norm"};
  expect_fused(
      "c · rsqrt(v + eps) · gamma + beta", shapes, ops,
      [](B& b, const In& in) {
        const T c = centred(b, in[0], 8.0);
        const T y = c * b.rsqrt(b.reduce_sum(c * c, {-1}, true) / 8.0 + 1e-5);
        return y * vector_of(b, 8, 1) + vector_of(b, 8, 2);
      },
      0.0);
  expect_fused("beta + gamma · (c / sqrt), means by products, axes dropped", shapes, ops, [](B& b, const In& in) {
    const auto mean = [&](const T& x) { return b.reshape(b.reduce_sum(x, {2}) * 0.125, {2, 3, 1}); };
    const T c = in[0] - mean(in[0]);
    const T root = b.reciprocal(b.rsqrt(mean(c * c) + 1e-5));
    return vector_of(b, 8, 2) + vector_of(b, 8, 1) * (c / root);
  });
  expect_fused(
      "the centred value computed twice", shapes, {"constant", "constant", "layer_norm"},
      [](B& b, const In& in) {
        const T c = centred(b, in[0], 8.0);
        const T d = centred(b, in[0], 8.0);
        return b.rsqrt(b.reduce_sum(d * d, {-1}, true) / 8.0 + 1e-5) * c;
      },
      0.0);
  expect_fused(
      "scale and shift of the step", {{2, 3, 8}, {8}, {1, 1, 8}}, {"reshape", "layer_norm"},
      [](B& b, const In& in) {
        const T c = centred(b, in[0], 8.0);
        return c * b.rsqrt(b.reduce_sum(c * c, {-1}, true) / 8.0 + 1e-5) * in[1] + in[2];
      },
      0.0);
}

TEST(FuseLayerNorm, NearMisses) {
  const std::vector<Shape> shapes{{3, 8}, {3, 8}};
  expect_kept("the mean of another extent", shapes, "layer_norm", [](B& b, const In& in) {
    const T c = centred(b, in[0], 4.0);
    return b.name(c * b.rsqrt(b.reduce_sum(c * c, {-1}, true) / 4.0 + 1e-5), Name("y"));
  });
  expect_kept("E[x²] - mean²", shapes, "layer_norm", [](B& b, const In& in) {
    const T mean = b.reduce_sum(in[0], {-1}, true) / 8.0;
    const T v = b.reduce_sum(in[0] * in[0], {-1}, true) / 8.0 - mean * mean;
    return (in[0] - mean) * b.rsqrt(v + 1e-5);
  });
  const FusionResult shift = fuse(shapes, [](B& b, const In& in) {
    const T c = centred(b, in[0], 8.0);
    return c * b.rsqrt(b.reduce_sum(c * c, {-1}, true) / 8.0 + 1e-5) + in[1];
  });
  // A norm has one shift, and its scale goes before it.
  const auto norm = [](B& b, const T& x, ir::ptir::FoldTypes types = {}) {
    const T c = centred(b, x, 8.0);
    return c * b.rsqrt(b.reduce_sum(c * c, {-1}, true, types) / 8.0 + 1e-5);
  };
  for (const bool scaled : {false, true}) {
    const FusionResult second = fuse({{3, 8}}, [&](B& b, const In& in) {
      const T shifted = norm(b, in[0]) + vector_of(b, 8, 1);
      return scaled ? shifted * vector_of(b, 8, 2) : shifted + vector_of(b, 8, 2);
    });
    EXPECT_EQ(second.count("layer_norm"), 1u);
    EXPECT_EQ(second.count("elementwise_binary"), 1u);
    EXPECT_EQ(second.worst, 0.0);
  }
  expect_kept("squares added in f64", shapes, "layer_norm",
              [&](B& b, const In& in) { return norm(b, in[0], {DType::f64, DType::f32}); });
  // Rows of equal numbers give zeros, whose signs are those of the scale.
  const FusionResult sign = fuse({{2, 8}}, [](B& b, const In& in) {
    const T c = centred(b, in[0] * 0.0 + 3.0, 8.0);
    const T y = c * b.rsqrt(b.reduce_sum(c * c, {-1}, true) / 8.0 + 1e-5) * vector_of(b, 8, 1);
    return b.select(b.lt(b.reciprocal(y), b.scalar(DType::f32, 0)), b.scalar(DType::f32, -1), b.scalar(DType::f32, 1));
  });
  EXPECT_EQ(sign.count("layer_norm"), 1u);
  EXPECT_EQ(sign.worst, 0.0);
  // A shift that differs from row to row stays a sum.
  EXPECT_EQ(shift.ops, (Ops{"constant", "constant", "layer_norm", "elementwise_binary"}));
  EXPECT_EQ(shift.worst, 0.0);
}

TEST(FuseGatedAct, Silu) {
  const std::vector<Shape> shapes{{3, 7}, {3, 7}};
  const Ops one{"gated_act"};
  expect_fused("x / (1 + exp(-x))", shapes, one, [](B& b, const In& in) { return in[0] / (b.exp(-in[0]) + 1.0); });
  expect_fused("sigmoid by reciprocal", shapes, one,
               [](B& b, const In& in) { return b.reciprocal(b.scalar(DType::f32, 1.0) + b.exp(-in[0])) * in[0]; });
  expect_fused("sigmoid by quotient, -1 · x", shapes, one,
               [](B& b, const In& in) { return in[0] * (b.scalar(DType::f32, 1.0) / (b.exp(in[0] * -1.0) + 1.0)); });
  expect_fused("times up", shapes, one, [](B& b, const In& in) { return in[1] * (in[0] / (b.exp(-in[0]) + 1.0)); });
  expect_kept("exp(x)", shapes, "gated_act", [](B& b, const In& in) { return in[0] / (b.exp(in[0]) + 1.0); });
  expect_kept("2 + exp(-x)", shapes, "gated_act", [](B& b, const In& in) { return in[0] / (b.exp(-in[0]) + 2.0); });
  expect_kept("of another value", shapes, "gated_act",
              [](B& b, const In& in) { return in[1] / (b.exp(-in[0]) + 1.0); });
}

TEST(FuseGatedAct, Gelu) {
  const std::vector<Shape> shapes{{3, 7}, {3, 7}};
  const Ops one{"gated_act"};
  constexpr double kHalf = 0.5;
  expect_fused("0.5 · x · (1 + erf(x / sqrt 2))", shapes, one,
               [](B& b, const In& in) { return kHalf * in[0] * (b.erf(in[0] / 1.4142135623730951) + 1.0); });
  expect_fused("x · (0.5 · (1 + erf(x · sqrt 1/2)))", shapes, one, [](B& b, const In& in) {
    return in[0] * (kHalf * (b.scalar(DType::f32, 1.0) + b.erf(in[0] * 0.7071067811865476)));
  });
  expect_fused("(x · (1 + erf)) / 2, of a product", shapes, one,
               [](B& b, const In& in) { return (in[0] * (b.erf(0.7071067811865476 * in[0]) + 1.0)) / 2.0; });
  const FusionResult product = fuse(shapes, [](B& b, const In& in) {
    const T x = in[0] * in[1];
    return kHalf * x * (b.erf(x / 1.4142135623730951) + 1.0);
  });
  EXPECT_EQ(product.ops, (Ops{"elementwise_binary", "gated_act"}));
  EXPECT_LE(product.worst, kClose);
  expect_kept("another constant", shapes, "gated_act",
              [](B& b, const In& in) { return kHalf * in[0] * (b.erf(in[0] / 1.41) + 1.0); });
  expect_kept("without the half", shapes, "gated_act",
              [](B& b, const In& in) { return in[0] * (b.erf(in[0] / 1.4142135623730951) + 1.0); });
}

TEST(FuseGatedAct, GeluTanh) {
  const std::vector<Shape> shapes{{3, 7}, {3, 7}};
  const Ops one{"gated_act"};
  constexpr double kRoot = 0.7978845608028654;
  expect_fused("0.5 · x · (1 + tanh(c · (x + d · x³)))", shapes, one, [](B& b, const In& in) {
    const T x = in[0];
    return 0.5 * x * (b.tanh(kRoot * (x + 0.044715 * (x * x * x))) + 1.0);
  });
  expect_fused("x · 0.5 · (tanh((d · x · (x · x) + x) · c) + 1)", shapes, one, [](B& b, const In& in) {
    const T x = in[0];
    return x * (0.5 * (b.tanh((0.044715 * x * (x * x) + x) * kRoot) + 1.0));
  });
  expect_fused("tanh(c · x · (1 + d · x²)), gated", shapes, one, [](B& b, const In& in) {
    const T x = in[0];
    return in[1] * (0.5 * x * (b.tanh(kRoot * x * (0.044715 * (x * x) + 1.0)) + 1.0));
  });
  expect_kept("another cubic", shapes, "gated_act", [](B& b, const In& in) {
    const T x = in[0];
    return 0.5 * x * (b.tanh(kRoot * (x + 0.0447 * (x * x * x))) + 1.0);
  });
  expect_kept("the square for the cube", shapes, "gated_act", [](B& b, const In& in) {
    const T x = in[0];
    return 0.5 * x * (b.tanh(kRoot * (x + 0.044715 * (x * x))) + 1.0);
  });
}

TEST(FuseGatedAct, SquaredRelu) {
  expect_fused(
      "max(x, 0)²", {{3, 7}}, {"gated_act"},
      [](B& b, const In& in) {
        const T y = b.maximum(b.scalar(DType::f32, 0.0), in[0]);
        return y * y;
      },
      0.0);
  expect_kept("max(x, 1)²", {{3, 7}}, "gated_act", [](B& b, const In& in) {
    const T y = b.maximum(in[0], b.scalar(DType::f32, 1.0));
    return y * y;
  });
}

TEST(FuseGatedAct, Relu) {
  const std::vector<Shape> shapes{{3, 7}};
  const Ops one{"gated_act"};
  const auto zero = [](B& b) { return b.scalar(DType::f32, 0.0); };
  expect_fused("max(x, 0)", shapes, one, [&](B& b, const In& in) { return b.maximum(in[0], zero(b)); }, 0.0);
  expect_fused("max(0, x)", shapes, one, [&](B& b, const In& in) { return b.maximum(zero(b), in[0]); }, 0.0);
  expect_fused(
      "max(x, 0) · up", {{3, 7}, {3, 7}}, one, [&](B& b, const In& in) { return b.maximum(in[0], zero(b)) * in[1]; },
      0.0);
  expect_kept("min(x, 0)", shapes, "gated_act", [&](B& b, const In& in) { return b.minimum(in[0], zero(b)); });
  expect_kept("max(x, 1)", shapes, "gated_act",
              [](B& b, const In& in) { return b.maximum(in[0], b.scalar(DType::f32, 1.0)); });
}

T matrix_of(B& b, std::int64_t rows, std::int64_t cols, std::uint32_t seed) {
  return b.constant({rows, cols}, random_floats(static_cast<std::size_t>(rows * cols), seed));
}

TEST(FuseLinear, ItsForms) {
  const std::vector<Shape> shapes{{2, 3, 8}};
  const Ops one{"linear"};
  expect_fused(
      "x · W[K, N] + b", shapes, one,
      [](B& b, const In& in) { return b.dot(in[0], matrix_of(b, 8, 5, 1)) + vector_of(b, 5, 2); }, 0.0);
  expect_fused(
      "b + x · transpose(W[N, K])", shapes, one,
      [](B& b, const In& in) { return vector_of(b, 5, 2) + b.dot(in[0], b.transpose(matrix_of(b, 5, 8, 1), {1, 0})); },
      0.0);
  expect_fused(
      "contracted with axis 1, bias [1, 1, N]", shapes, one,
      [](B& b, const In& in) {
        return b.dot_general(in[0], matrix_of(b, 5, 8, 1), {.contract_lhs = {2}, .contract_rhs = {1}}) +
               b.constant({1, 1, 5}, random_floats(5, 3));
      },
      0.0);
  expect_fused(
      "without a bias", shapes, one, [](B& b, const In& in) { return b.dot(in[0], matrix_of(b, 8, 5, 1)); }, 0.0);
}

TEST(FuseLinear, NearMisses) {
  expect_kept("a matrix of the step", {{3, 8}, {8, 5}}, "linear",
              [](B& b, const In& in) { return b.dot(in[0], in[1]); });
  expect_kept("contracted with the first axis of x", {{8, 3}}, "linear", [](B& b, const In& in) {
    return b.dot_general(in[0], matrix_of(b, 8, 5, 1), {.contract_lhs = {0}, .contract_rhs = {0}});
  });
  const FusionResult r = fuse({{5, 8}}, [](B& b, const In& in) {
    return b.dot(in[0], matrix_of(b, 8, 5, 1)) + b.reshape(vector_of(b, 5, 2), {5, 1});
  });
  EXPECT_EQ(r.count("linear"), 1u);
  EXPECT_EQ(r.count("elementwise_binary"), 1u) << "a bias for each row is no bias of linear";
  EXPECT_EQ(r.worst, 0.0);
}

T columns_of(B& b, const T& x, std::int64_t cols) {
  return b.dot(x, matrix_of(b, 8, cols, 1)) + vector_of(b, static_cast<std::uint32_t>(cols), 2);
}

TEST(SplitLinear, ItsForms) {
  const std::vector<Shape> shapes{{2, 3, 8}};
  expect_fused(
      "columns", shapes, {"linear", "linear", "elementwise_binary"},
      [](B& b, const In& in) {
        const T y = columns_of(b, in[0], 40);
        return b.slice(y, {0, 0, 0}, {2, 3, 20}) * b.slice(y, {0, 0, 20}, {2, 3, 20});
      },
      0.0);
  expect_fused(
      "columns in any order, some of them read by nobody", shapes, {"linear", "linear", "elementwise_binary"},
      [](B& b, const In& in) {
        const T y = columns_of(b, in[0], 64);
        return b.slice(y, {0, 0, 30}, {2, 3, 20}) - b.slice(y, {0, 0, 1}, {2, 3, 20});
      },
      0.0);
  expect_fused(
      "parts of the heads, brought forward first", shapes,
      {"linear", "reshape", "transpose", "reshape", "linear", "reshape", "transpose", "reshape", "elementwise_binary"},
      [](B& b, const In& in) {
        const T y = b.transpose(b.reshape(columns_of(b, in[0], 48), {2, 3, 2, 3, 8}), {2, 0, 3, 1, 4});
        const auto part = [&](std::int64_t i) {
          return b.reshape(b.slice(y, {i, 0, 0, 0, 0}, {1, 2, 3, 3, 8}), {6, 3, 8});
        };
        return part(0) + part(1);
      },
      0.0);
}

TEST(SplitLinear, NearMisses) {
  const auto whole = [](const char* what, const std::vector<Shape>& shapes, const BuildProgram& build) {
    SCOPED_TRACE(what);
    const FusionResult r = fuse(shapes, build);
    EXPECT_EQ(r.count("linear"), 1u);
    EXPECT_GE(r.count("slice"), 1u);
    EXPECT_EQ(r.worst, 0.0);
  };
  const auto parts = [](B& b, const T& y, std::int64_t cols) {
    return b.slice(y, {0, 0}, {6, cols}) + b.slice(y, {0, cols}, {6, cols});
  };
  whole("few columns", {{6, 8}}, [&](B& b, const In& in) { return parts(b, columns_of(b, in[0], 30), 15); });
  whole("columns twice", {{6, 8}}, [](B& b, const In& in) {
    const T y = columns_of(b, in[0], 40);
    return b.slice(y, {0, 0}, {6, 24}) + b.slice(y, {0, 16}, {6, 24});
  });
  whole("read whole, too", {{6, 8}}, [&](B& b, const In& in) {
    const T y = columns_of(b, in[0], 40);
    return b.concat({y, parts(b, y, 20)}, 1);
  });
  whole("given out, too", {{6, 8}}, [&](B& b, const In& in) {
    const T y = columns_of(b, in[0], 40);
    b.result(y);
    return parts(b, y, 20);
  });
  whole("rows", {{6, 8}}, [](B& b, const In& in) { return b.slice(columns_of(b, in[0], 40), {1, 2}, {4, 20}); });
  whole("one row, of which parts are views", {{1, 8}}, [](B& b, const In& in) {
    const T y = columns_of(b, in[0], 40);
    return b.slice(y, {0, 0}, {1, 16}) + b.slice(y, {0, 16}, {1, 16});
  });
  whole("of each head a part", {{6, 8}}, [](B& b, const In& in) {
    const T y = b.reshape(columns_of(b, in[0], 64), {6, 2, 32});
    return b.slice(y, {0, 0, 0}, {6, 2, 16}) + b.slice(y, {0, 0, 16}, {6, 2, 16});
  });
}

T relu(B& b, const T& x) { return b.maximum(x, b.scalar(DType::f32, 0.0)); }

TEST(FuseBiasAct, ItsForms) {
  const Ops product{"dot_general", "bias_act"};
  expect_fused(
      "relu(x · y + b), all data of the step", {{3, 8}, {8, 5}, {5}}, product,
      [](B& b, const In& in) { return relu(b, b.dot(in[0], in[1]) + in[2]); }, 0.0);
  expect_fused(
      "relu(b + x · y)², b a constant", {{3, 8}, {8, 5}}, {"constant", "dot_general", "bias_act"},
      [](B& b, const In& in) {
        const T bias = vector_of(b, 5, 2);
        const T y = relu(b, bias + b.dot(in[0], in[1]));
        return y * y;
      },
      0.0);
  expect_fused("silu(x + b), b of each channel", {{2, 3, 4, 5}}, {"constant", "bias_act"}, [](B& b, const In& in) {
    const T y = in[0] + b.constant({1, 3, 1, 1}, random_floats(3, 1));
    return y / (b.exp(-y) + 1.0);
  });
  expect_fused("gelu(x + b), b a column of the step", {{7, 5}, {7, 1}}, {"reshape", "bias_act"},
               [](B& b, const In& in) {
                 const T y = in[0] + in[1];
                 return 0.5 * y * (b.erf(y / 1.4142135623730951) + 1.0);
               });
}

TEST(FuseBiasAct, NearMisses) {
  const auto kept = [](const char* what, const std::vector<Shape>& shapes, const Ops& ops, const BuildProgram& build) {
    SCOPED_TRACE(what);
    const FusionResult r = fuse(shapes, build);
    EXPECT_EQ(r.ops, ops);
    EXPECT_EQ(r.worst, 0.0);
  };
  kept("the bias of a projection is linear's", {{3, 8}}, {"linear", "gated_act"},
       [](B& b, const In& in) { return relu(b, b.dot(in[0], matrix_of(b, 8, 5, 1)) + vector_of(b, 5, 2)); });
  kept("two whole tensors", {{3, 5}, {3, 5}}, {"elementwise_binary", "gated_act"},
       [](B& b, const In& in) { return relu(b, in[0] + in[1]); });
  kept("a difference", {{3, 5}, {5}}, {"elementwise_binary", "gated_act"},
       [](B& b, const In& in) { return relu(b, in[0] - in[1]); });
  kept("the gate of another value", {{3, 5}, {5}, {3, 5}}, {"elementwise_binary", "gated_act", "elementwise_binary"},
       [](B& b, const In& in) { return relu(b, in[0] + in[1]) * in[2]; });
  const FusionResult read = fuse({{3, 5}, {5}}, [](B& b, const In& in) {
    const T y = in[0] + in[1];
    return relu(b, y) + b.tanh(y);
  });
  EXPECT_EQ(read.count("bias_act"), 0u) << "the sum is read elsewhere";
}

TEST(AbsorbIntoMatmul, ATransposedOperandIsReadAsItLies) {
  const Ops one{"dot_general"};
  constexpr auto kBatched = [](B& b, const T& x, const T& y, std::int64_t l, std::int64_t r) {
    return b.dot_general(x, y, {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {l}, .contract_rhs = {r}});
  };
  expect_fused(
      "rhs", {{2, 3, 8}, {2, 5, 8}}, one,
      [&](B& b, const In& in) { return kBatched(b, in[0], b.transpose(in[1], {0, 2, 1}), 2, 1); }, 0.0);
  expect_fused(
      "lhs", {{2, 8, 3}, {2, 8, 5}}, one,
      [&](B& b, const In& in) { return kBatched(b, b.transpose(in[0], {0, 2, 1}), in[1], 2, 1); }, 0.0);
  expect_fused(
      "both", {{2, 8, 3}, {2, 5, 8}}, one,
      [&](B& b, const In& in) {
        return kBatched(b, b.transpose(in[0], {0, 2, 1}), b.transpose(in[1], {0, 2, 1}), 2, 1);
      },
      0.0);
  const FusionResult heads = fuse({{3, 2, 8}, {2, 5, 8}}, [&](B& b, const In& in) {
    return kBatched(b, b.transpose(in[0], {1, 0, 2}), in[1], 2, 2);
  });
  EXPECT_EQ(heads.ops, (Ops{"transpose", "dot_general"})) << "heads that change places are moved";
  const FusionResult free =
      fuse({{4, 4}, {5}}, [&](B& b, const In& in) { return b.dot_general(b.transpose(in[0], {1, 0}), in[1], {}); });
  EXPECT_EQ(free.ops, (Ops{"transpose", "dot_general"})) << "with both axes free the result's would change places";
}

T projected(B& b, const T& x, std::uint32_t seed) {
  return b.dot(x, b.constant({8, 5}, random_floats(40, seed))) + vector_of(b, 5, seed + 1);
}

TEST(AbsorbScale, ItsForms) {
  const std::vector<Shape> shapes{{3, 8}};
  const Ops one{"linear"};
  expect_fused("behind", shapes, one, [](B& b, const In& in) { return 0.3 * projected(b, in[0], 1); }, 1e-5);
  expect_fused("before", shapes, one, [](B& b, const In& in) { return projected(b, in[0] / 3.0, 1); }, 1e-5);
  expect_fused(
      "a chain of numbers behind a product without a bias", shapes, one,
      [](B& b, const In& in) { return (b.dot(in[0], b.constant({8, 5}, random_floats(40, 1))) * 6.0) / 7.0; }, 1e-5);
  expect_fused(
      "on both sides", shapes, one, [](B& b, const In& in) { return projected(b, in[0] * 0.7, 1) * 1.7; }, 1e-5);
  expect_fused("a power of two", shapes, one, [](B& b, const In& in) { return projected(b, in[0], 1) * 0.25; }, 0.0);
}

TEST(AbsorbScale, NearMisses) {
  const auto products = [](const BuildProgram& build) { return fuse({{3, 8}}, build).count("elementwise_binary"); };
  EXPECT_EQ(products([](B& b, const In& in) {
              const T y = projected(b, in[0], 1);
              return y * 0.3 + y;
            }),
            2u)
      << "the projection is read elsewhere";
  EXPECT_EQ(products([](B& b, const In& in) { return projected(b, in[0], 1) * vector_of(b, 5, 3); }), 1u)
      << "a vector, not a number";
  EXPECT_EQ(products([](B& b, const In& in) { return projected(b, in[0], 1) * 3e38; }), 1u) << "weights overflow";
  EXPECT_EQ(products([](B& b, const In& in) { return projected(b, in[0], 1) * 1e-37; }), 1u)
      << "weights lose digits next to zero";
  EXPECT_EQ(products([](B& b, const In& in) {
              const T w = b.constant({5, 8}, random_floats(40, 1));
              const auto tied = [&](const T& x) { return b.dot(x, b.transpose(w, {1, 0})); };
              return b.concat({tied(in[0]) * 0.3, tied(b.exp(in[0]))}, 0);
            }),
            1u)
      << "the weight is read elsewhere";
}

TEST(AbsorbAlpha, ItsForms) {
  const std::vector<Shape> shapes{{2, 3, 8}, {2, 5, 8}};
  const Ops one{"dot_general"};
  const auto product = [](B& b, const In& in) {
    return b.dot_general(in[0], in[1], {.batch_lhs = {0}, .batch_rhs = {0}, .contract_lhs = {2}, .contract_rhs = {2}});
  };
  expect_fused("times a number", shapes, one, [&](B& b, const In& in) { return product(b, in) * 0.3; }, 0.0);
  expect_fused("a number times", shapes, one, [&](B& b, const In& in) { return -0.3 * product(b, in); }, 0.0);
  expect_fused("by a power of two", shapes, one, [&](B& b, const In& in) { return product(b, in) / 8.0; }, 0.0);
  expect_fused("by another number", shapes, one, [&](B& b, const In& in) { return product(b, in) / 7.0; }, 1e-6);
  expect_fused(
      "of a transposed operand", {{3, 8}, {5, 8}}, one,
      [](B& b, const In& in) { return b.dot(in[0], b.transpose(in[1], {1, 0})) * 0.3; }, 0.0);
}

TEST(AbsorbAlpha, NearMisses) {
  const auto products = [](const BuildProgram& build) {
    const FusionResult r = fuse({{3, 8}, {8, 5}}, build);
    EXPECT_EQ(r.worst, 0.0);
    return r.count("elementwise_binary");
  };
  EXPECT_EQ(products([](B& b, const In& in) {
              const T y = b.dot(in[0], in[1]);
              return b.concat({y * 0.3, y}, 0);
            }),
            1u)
      << "the product is read elsewhere";
  EXPECT_EQ(products([](B& b, const In& in) { return b.dot(in[0], in[1]) * vector_of(b, 5, 3); }), 1u) << "a vector";
  EXPECT_EQ(products([](B& b, const In& in) { return b.scalar(DType::f32, 0.3) / b.dot(in[0], in[1]); }), 1u)
      << "a number by a product";
  EXPECT_EQ(products([](B& b, const In& in) { return (b.dot(in[0], in[1]) * 0.3) * 0.7; }), 1u) << "a second number";
  EXPECT_EQ(products([](B& b, const In& in) { return b.dot(in[0], in[1]) / 0.0; }), 1u) << "an infinite alpha";
}

}  // namespace
}  // namespace pass_fusions_test
