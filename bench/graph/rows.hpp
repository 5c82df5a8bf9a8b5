// SPDX-License-Identifier: Apache-2.0
// bench/graph/rows.hpp: the tensor programs that are measured, written in primitives.
#pragma once

#include <zrt/ir/ptir/builder.hpp>

#include <cstdint>
#include <span>

namespace bench {

using zrt::ir::ptir::Builder;
using zrt::ir::ptir::Tensor;

/// A row of the graph runtime's tables: a perceptron of three square layers on `batch` rows, or, where there are
/// tokens, a pre-norm transformer block on batch x tokens rows.
struct Row {
  std::uint32_t batch = 1;
  std::uint32_t tokens = 0;
  std::uint32_t dim = 64;

  static constexpr std::uint32_t kHeads = 4;

  [[nodiscard]] bool is_block() const { return tokens != 0; }
  [[nodiscard]] std::uint64_t input_elements() const { return std::uint64_t{batch} * (is_block() ? tokens : 1) * dim; }
};

/// Takes weights from one array in the order in which the program uses them.
class Weights {
 public:
  Weights(Builder& builder, std::span<const float> values) : b_(builder), values_(values) {}

  [[nodiscard]] Tensor take(const zrt::ir::ptir::Shape& shape, std::uint64_t elements) {
    const auto part = values_.first(elements < values_.size() ? elements : values_.size());
    values_ = values_.subspan(part.size());
    return b_.constant(shape, part);
  }
  [[nodiscard]] Tensor vector(std::uint32_t n) { return take({n}, n); }
  /// x Wᵀ + bias with W [rows, cols] and the bias after it.
  [[nodiscard]] Tensor linear(const Tensor& x, std::uint32_t rows, std::uint32_t cols) {
    const Tensor w = take({rows, cols}, std::uint64_t{rows} * cols);
    const Tensor y = b_.dot_general(x, w, {.contract_lhs = {-1}, .contract_rhs = {1}});
    return b_.add(y, vector(rows));
  }
  [[nodiscard]] Tensor norm(const Tensor& x, std::uint32_t n) {
    const Tensor gamma = vector(n);
    return b_.layer_norm(x, gamma, vector(n));
  }
  /// Whether the program took every weight.
  [[nodiscard]] bool used_up() const { return values_.empty(); }

 private:
  Builder& b_;
  std::span<const float> values_;
};

inline Tensor relu(Builder& b, const Tensor& x) { return b.maximum(x, b.scalar(zrt::DType::f32, 0.0)); }

inline void build_perceptron(Builder& b, const Row& row, Weights& w) {
  Tensor x = b.parameter({zrt::DType::f32, {row.batch, row.dim}}, "x");
  x = relu(b, w.linear(x, row.dim, row.dim));
  x = relu(b, w.linear(x, row.dim, row.dim));
  b.result(w.linear(x, row.dim, row.dim));
}

inline void build_block(Builder& b, const Row& row, Weights& w) {
  const std::uint32_t d = row.dim;
  const std::uint32_t head_dim = d / Row::kHeads;
  const Tensor x = b.parameter({zrt::DType::f32, {row.batch, row.tokens, d}}, "x");
  const Tensor normed = w.norm(x, d);
  const auto heads = [&] {
    const Tensor split = b.reshape(w.linear(normed, d, d), {row.batch, row.tokens, Row::kHeads, head_dim});
    return b.transpose(split, {0, 2, 1, 3});
  };
  const Tensor q = heads();
  const Tensor k = heads();
  const Tensor v = heads();
  const Tensor scores =
      b.dot_general(q, k, {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {3}});
  const double scale = 1.0 / __builtin_sqrt(static_cast<double>(head_dim));
  const Tensor p = b.softmax(b.mul(scores, b.scalar(zrt::DType::f32, scale)));
  const Tensor mixed =
      b.dot_general(p, v, {.batch_lhs = {0, 1}, .batch_rhs = {0, 1}, .contract_lhs = {3}, .contract_rhs = {2}});
  const Tensor merged = b.reshape(b.transpose(mixed, {0, 2, 1, 3}), {row.batch, row.tokens, d});
  const Tensor mid = b.add(x, w.linear(merged, d, d));
  const Tensor wide = relu(b, w.linear(w.norm(mid, d), 4 * d, d));
  b.result(b.add(mid, w.linear(wide, d, 4 * d)));
}

/// The program of a row.
///
/// Errors: those of the builder, and Errc::invalid_argument where there are more or fewer weights than it uses.
[[nodiscard]] inline zrt::Result<zrt::ir::ptir::Program> program_of(const Row& row, std::span<const float> weights) {
  Builder b;
  Weights w(b, weights);
  if (row.is_block())
    build_block(b, row, w);
  else
    build_perceptron(b, row, w);
  auto program = b.finish();
  if (program && !w.used_up())
    return zrt::fail(zrt::Errc::invalid_argument, "the file has more weights than the program");
  return program;
}

}  // namespace bench
