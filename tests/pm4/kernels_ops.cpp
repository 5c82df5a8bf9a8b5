// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernels_ops.cpp: the kernels of kernels/ that are no matrix products, against the ops' own references.
#include <zrt/ops/argmax.hpp>
#include <zrt/ops/embedding.hpp>
#include <zrt/ops/gated_act.hpp>
#include <zrt/ops/residual_rms_norm.hpp>

#include <limits>
#include <pm4/kernel_machine.hpp>

namespace zrt::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

class OpKernels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Targets, OpKernels, testing::Values("gfx1201", "gfx1100"),
                         [](const auto& target) { return std::string(target.param); });

template <class T> HostTensor tensor(std::vector<T>& values, DType dtype, Shape shape) {
  return {reinterpret_cast<std::byte*>(values.data()), {dtype, shape}};
}
HostWeight vector_weight(const std::vector<float>& values) {
  const auto cols = static_cast<std::uint32_t>(values.size());
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, 1, cols, cols * 4};
}
template <class O> void reference(const HostCall<O>& call) { O::reference(call, ExecutionContext{}, Worker{}); }

TEST_P(OpKernels, EmbeddingOfEachType) {
  std::mt19937 random(1);
  constexpr std::uint32_t kRows = 7;
  for (const std::uint32_t cols : {32u, 288u}) {
    std::vector<std::int32_t> ids{3, 0, 6, 6, 1, 7, -1};
    const auto tokens = static_cast<std::uint32_t>(ids.size());
    const std::vector<float> table = reals(random, std::size_t{kRows} * cols);
    std::vector<std::uint16_t> halves, d;
    for (const float v : table) halves.push_back(to_f16(v).bits);
    for (std::size_t b = 0; b < table.size() / 32; ++b) d.push_back(to_f16(reals(random, 1)[0]).bits);
    for (const DType dtype : {DType::f32, DType::f16, DType::q8_0, DType::q4_0}) {
      SCOPED_TRACE(std::to_string(cols) + " " + std::string(name(dtype)));
      std::vector<float> got(std::size_t{tokens} * cols), want(got.size());
      std::vector<std::uint32_t> fault(1);
      KernelMachine m(GetParam(), "embedding_" + std::string(name(dtype)));
      HostWeight w{nullptr, dtype, kRows, cols, cols * 4};
      // Bytes of a block behind its scale.
      const std::size_t bytes = dtype == DType::q8_0 ? 32 : 16;
      std::vector<std::uint8_t> q(d.size() * bytes);
      std::vector<std::byte> blocks(d.size() * (bytes + 2));
      m.input(ids);
      if (dtype == DType::f32) {
        m.input(table);
        w.data = reinterpret_cast<const std::byte*>(table.data());
      } else if (dtype == DType::f16) {
        m.input(halves);
        w.data = reinterpret_cast<const std::byte*>(halves.data());
        w.row_bytes = cols * 2;
      } else {
        for (std::uint8_t& value : q) value = static_cast<std::uint8_t>(random());
        for (std::size_t b = 0; b < d.size(); ++b) {
          std::memcpy(&blocks[b * (bytes + 2)], &d[b], 2);
          std::memcpy(&blocks[b * (bytes + 2) + 2], &q[b * bytes], bytes);
        }
        m.input(q);
        m.input(d);
        w.data = blocks.data();
        w.row_bytes = cols / 32 * (bytes + 2);
      }
      m.output(got);
      m.output(fault);
      m.push(kRows);
      m.push(cols);
      m.push(1.7f);
      m.run((cols + 255) / 256, tokens);
      reference(HostCall<ops::Embedding>{
          {tensor(ids, DType::si32, Shape{tokens})}, {tensor(want, DType::f32, Shape{tokens, cols})}, {w}, {}, {1.7f}});
      expect_same(got, want);
      EXPECT_EQ(fault[0], 1u);
    }
  }
}

TEST_P(OpKernels, NormsWithAndWithoutWeightInPlaceAndNot) {
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
      KernelMachine m(GetParam(), "rms_norm");
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
      KernelMachine m(GetParam(), "residual_rms_norm");
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

TEST_P(OpKernels, GatedActivations) {
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
      KernelMachine m(GetParam(), "gated_act");
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

TEST_P(OpKernels, ArgmaxTakesTheFirstOfEqualsAndNoNan) {
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
    KernelMachine m(GetParam(), "argmax");
    m.input(logits);
    m.output(got);
    m.push(cols);
    m.run(kRows);
    reference(HostCall<ops::Argmax>{
        {tensor(logits, DType::f32, Shape{kRows, cols})}, {tensor(want, DType::si32, Shape{kRows})}, {}, {}, {}});
    EXPECT_EQ(got, want);
  }
}

}  // namespace
}  // namespace zrt::test
