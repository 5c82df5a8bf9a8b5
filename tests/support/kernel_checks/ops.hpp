// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_checks/ops.hpp: the kernels that are no matrix products, against the ops' own references.
//
// `kernels.launch(name)` makes one launch: input, output, same_as and absent give its buffers, push its values, run its
// grid. `kernels.types()` are the weight types that the device's kernels read.
#pragma once

#include <zrt/ops/embedding.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/greedy_token.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/residual_add.hpp>
#include <zrt/ops/residual_rms_norm.hpp>
#include <zrt/ops/take.hpp>

#include <algorithm>
#include <limits>
#include <support/kernel_matrix.hpp>

namespace zrt::test::kernel_checks {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                       kInfinity = std::numeric_limits<float>::infinity();

template <class T> HostTensor tensor(std::vector<T>& values, DType dtype, Shape shape) {
  return {reinterpret_cast<std::byte*>(values.data()), {dtype, shape}};
}
inline HostWeight vector_weight(const std::vector<float>& values) {
  const auto cols = static_cast<std::uint32_t>(values.size());
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, 1, cols, cols * 4};
}
template <class O> void reference(const HostCall<O>& call) { O::reference(call, ExecutionContext{}, Worker{}); }

/// Rows of tables of each type.
template <class Kernels> void check_embedding(Kernels&& kernels) {
  std::mt19937 random(1);
  for (const device::UploadFunctions& type : kernels.types())
    for (const std::uint32_t blocks : {1u, 9u}) {
      SCOPED_TRACE(testing::Message() << name(type.dtype) << " " << blocks);
      // Forty rows: more than one group of any type.
      const KernelMatrix table(random, type.dtype, 40,
                               std::max<std::uint32_t>(info(type.dtype).block_elems, 32) * blocks);
      std::vector<std::int32_t> ids{3, 0, 39, 39, 32, 40, -1};
      const auto tokens = static_cast<std::uint32_t>(ids.size());
      std::vector<float> got(std::size_t{tokens} * table.cols), want(got.size());
      std::vector<std::uint32_t> fault(1);
      auto m = kernels.launch("embedding" + table.suffix());
      m.input(ids);
      for (const std::vector<std::byte>& part : table.parts) m.input(part);
      m.output(got);
      m.output(fault);
      m.push(table.rows);
      m.push(table.cols);
      m.push(1.7f);
      m.run((table.cols + 255) / 256, tokens);
      reference(HostCall<ops::Embedding>{{tensor(ids, DType::si32, Shape{tokens})},
                                         {tensor(want, DType::f32, Shape{tokens, table.cols})},
                                         {table.weight()},
                                         {},
                                         {1.7f}});
      expect_same(got, want);
      EXPECT_EQ(fault[0], 1u);
    }
}

/// Rows by index, inside the table and outside.
template <class Kernels> void check_rows_by_index(Kernels&& kernels) {
  std::mt19937 random(2);
  constexpr std::uint32_t kRows = 5, kCols = 259;
  std::vector<float> x = reals(random, std::size_t{kRows} * kCols);
  std::vector<std::int32_t> indices{4, 0, 4, 5, -1};
  const auto count = static_cast<std::uint32_t>(indices.size());
  std::vector<float> got(std::size_t{count} * kCols), want(got.size());
  std::vector<std::uint32_t> fault(1);
  auto m = kernels.launch("take_rows_f32");
  m.input(indices);
  m.input(x);
  m.output(got);
  m.output(fault);
  m.push(kRows);
  m.push(kCols);
  m.run((kCols + 255) / 256, count);
  reference(
      HostCall<ops::Take>{{tensor(x, DType::f32, Shape{kRows, kCols}), tensor(indices, DType::si32, Shape{count})},
                          {tensor(want, DType::f32, Shape{count, kCols})},
                          {},
                          {},
                          {}});
  expect_same(got, want);
  EXPECT_EQ(fault[0], 1u);
}

/// Residual sums, and scale and soft cap of logits.
template <class Kernels> void check_residuals(Kernels&& kernels) {
  std::mt19937 random(5);
  constexpr std::uint32_t kCount = 300;
  std::vector<float> x = reals(random, kCount, 40.0f), branch = reals(random, kCount), want(kCount);
  const Shape shape{kCount};
  for (const float scale : {1.0f, 0.3f}) {
    std::vector<float> got = x;
    auto m = kernels.launch("residual_add");
    const std::uint32_t at = m.output(got);
    m.input(branch);
    m.same_as(at);
    m.push(kCount);
    m.push(scale);
    m.run(2);
    reference(HostCall<ops::ResidualAdd>{{tensor(x, DType::f32, shape), tensor(branch, DType::f32, shape)},
                                         {tensor(want, DType::f32, shape)},
                                         {},
                                         {},
                                         {scale}});
    expect_same(got, want);
    for (const float cap : {0.0f, 30.0f}) {
      got = x;
      auto end = kernels.launch("soft_cap");
      end.output(got);
      end.push(kCount);
      end.push(scale);
      end.push(cap);
      end.run(2);
      for (std::size_t i = 0; i < kCount; ++i) want[i] = ops::LmHead::finish({.scale = scale, .soft_cap = cap}, x[i]);
      expect_same(got, want);
    }
  }
}

/// Norms with and without weight, in place and not.
template <class Kernels> void check_norms(Kernels&& kernels) {
  std::mt19937 random(2);
  constexpr std::uint32_t kRuns = 3;
  for (const std::uint32_t dim : {1u, 16u, 72u, 301u, 1024u}) {
    SCOPED_TRACE(dim);
    const std::uint32_t cols = kRuns * dim;
    const std::vector<float> weight = reals(random, dim), branch = reals(random, cols);
    const bool weighted = dim % 8 == 0;
    const ops::RmsNormParams params{1e-5f, weighted ? 1.0f : 0.0f, dim};
    std::vector<float> x = reals(random, cols, 4.0f), got(cols), want(cols), sum(cols);
    const Shape shape{cols};
    reference(HostCall<ops::RmsNorm>{{tensor(x, DType::f32, shape)},
                                     {tensor(want, DType::f32, shape)},
                                     {weighted ? vector_weight(weight) : HostWeight{}},
                                     {},
                                     params});
    for (const bool in_place : {false, true}) {
      std::vector<float> operand = x;
      auto m = kernels.launch("rms_norm");
      const std::uint32_t at = in_place ? m.output(operand) : m.input(operand);
      weighted ? static_cast<void>(m.input(weight)) : m.absent();
      in_place ? m.same_as(at) : static_cast<void>(m.output(got));
      m.push(dim);
      m.push(params.eps);
      m.push(params.weight_offset);
      m.run(kRuns);
      expect_same(in_place ? operand : got, want);
    }

    std::vector<float> branches = branch, want_sum(cols);
    HostCall<ops::ResidualRmsNorm> both{{tensor(x, DType::f32, shape), tensor(branches, DType::f32, shape)},
                                        {tensor(want_sum, DType::f32, shape), tensor(want, DType::f32, shape)},
                                        {weighted ? vector_weight(weight) : HostWeight{}},
                                        {},
                                        {{0.3f}, params}};
    reference(both);
    for (const bool in_place : {false, true}) {
      std::vector<float> operand = x, other = branch;
      auto m = kernels.launch("residual_rms_norm");
      const std::uint32_t at = in_place ? m.output(operand) : m.input(operand);
      const std::uint32_t branch_at = in_place ? m.output(other) : m.input(other);
      weighted ? static_cast<void>(m.input(weight)) : m.absent();
      in_place ? m.same_as(at) : static_cast<void>(m.output(sum));
      in_place ? m.same_as(branch_at) : static_cast<void>(m.output(got));
      m.push(dim);
      m.push(params.eps);
      m.push(params.weight_offset);
      m.push(0.3f);
      m.run(kRuns);
      expect_same(in_place ? operand : sum, want_sum);
      expect_same(in_place ? other : got, want);
    }
  }
}

/// Each activation, with what is no number.
template <class Kernels> void check_gated_activations(Kernels&& kernels) {
  std::mt19937 random(3);
  std::vector<float> gate = reals(random, 300, 12.0f);
  for (std::size_t i = 0; i < 100; ++i) gate[i] *= 0.05f;
  for (const float x : {kNan, kInfinity, -kInfinity, 0.0f, -0.0f, 100.0f, -100.0f, 1e-40f}) gate.push_back(x);
  std::vector<float> up = reals(random, gate.size());
  const auto count = static_cast<std::uint32_t>(gate.size());
  const Shape shape{count};
  for (std::uint32_t act = 0; act < kActivations; ++act)
    for (const bool gated : {true, false}) {
      SCOPED_TRACE(act);
      std::vector<float> got(count), want(count);
      auto m = kernels.launch("gated_act");
      m.input(gate);
      gated ? static_cast<void>(m.input(up)) : m.absent();
      m.output(got);
      m.push(count);
      m.push(act);
      m.run((count + 255) / 256);
      reference(HostCall<ops::GatedAct>{
          {tensor(gate, DType::f32, shape), gated ? tensor(up, DType::f32, shape) : HostTensor{}},
          {tensor(want, DType::f32, shape)},
          {},
          {},
          {static_cast<Activation>(act)}});
      expect_same(got, want);
    }
}

/// The first of equals, and no NaN.
template <class Kernels> void check_greedy_token(Kernels&& kernels) {
  std::mt19937 random(4);
  constexpr std::uint32_t kRows = 6;
  for (const std::uint32_t cols : {1u, 33u, 1024u, 2500u}) {
    SCOPED_TRACE(cols);
    std::vector<float> logits(std::size_t{kRows} * cols);
    // Few values, so that the largest comes often.
    for (float& x : logits) x = static_cast<float>(random() % 8) - 9.0f;
    for (std::size_t i = 0; i < cols; ++i) {
      logits[cols + i] = kNan;
      if (i % 3 != 1) logits[2 * cols + i] = kNan;
      logits[3 * cols + i] = -kInfinity;
      logits[4 * cols + i] = i % 2 == 0 ? -0.0f : 0.0f;
    }
    std::vector<std::int32_t> got(kRows, -5), want(kRows, -6);
    auto m = kernels.launch("argmax");
    m.input(logits);
    m.output(got);
    m.push(cols);
    m.run(kRows);
    reference(HostCall<ops::GreedyToken>{
        {tensor(logits, DType::f32, Shape{kRows, cols})}, {tensor(want, DType::si32, Shape{kRows})}, {}, {}, {}});
    EXPECT_EQ(got, want);
  }
}

}  // namespace zrt::test::kernel_checks
