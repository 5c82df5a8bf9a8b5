// SPDX-License-Identifier: Apache-2.0
// tests/kernels/attention_spans.cpp: attention within the spans of a step, of sequences longer than steps and segments of keys.
// test-set: smoke
#include <zrt/ops/flash_attn_varlen.hpp>

#include <cstring>
#include <kernels/harness.hpp>
#include <vector>

namespace attention_spans_test {
namespace {

using namespace cpu_kernels;
using zrt::HostCall;
using Op = ops::FlashAttnVarlen;

/// A step of sequences of these lengths.
struct Spans {
  std::vector<std::uint32_t> slots, positions;

  explicit Spans(std::span<const std::uint32_t> lengths) {
    for (std::uint32_t slot = 0; slot < lengths.size(); ++slot)
      for (std::uint32_t i = 0; i < lengths[slot]; ++i) {
        slots.push_back(slot);
        positions.push_back(i);
      }
  }
  std::uint32_t rows() const { return static_cast<std::uint32_t>(slots.size()); }
  void show_to(Case& c) const {
    c.step.slots = slots.data();
    c.step.positions = positions.data();
  }
};

HostCall<Op> call_of(Case& c, const ops::FlashAttnVarlenParams& p, DType bias = DType::f32) {
  const auto rows = [](std::uint32_t columns) { return Shape{Dim(1, kRows), columns}; };
  HostCall<Op> call{{c.reals(rows(p.heads * p.key_dim)), c.reals(rows(p.kv_heads * p.key_dim)),
                     c.reals(rows(p.kv_heads * p.value_dim))},
                    {c.tensor(DType::f32, rows(p.heads * p.value_dim))},
                    {},
                    {},
                    p};
  if (p.max_distance != 0) call.w[0] = c.matrix(bias, 16, p.heads);
  return call;
}

TEST(AttentionSpans, KernelsGiveTheBitsOfTheReference) {
  const std::vector<std::uint32_t> lengths[] = {{1}, {17, 16, 1, 5}, {64, 65, 3}, {700}, {3, 513, 130}};
  std::uint32_t seed = 0;
  for (const auto& of_step : lengths)
    for (const std::uint32_t reach : {0u, 30u, 600u})
      for (const std::uint32_t distance : {0u, 9u}) {
        const Spans spans(of_step);
        Case c(++seed, spans.rows());
        spans.show_to(c);
        c.check(call_of(c, {2, 1, 5, 3, 0.4f, reach, distance}));
      }
  const Spans spans(lengths[1]);
  Case c(++seed, spans.rows());
  spans.show_to(c);
  c.check(call_of(c, {1, 1, 576, 576, 0.04f, 0, 0}));
}

/// A bias in halves is what it is in f32.
TEST(AttentionSpans, BiasesMayBeHalves) {
  const std::uint32_t lengths[] = {40, 3};
  const Spans spans(lengths);
  const ops::FlashAttnVarlenParams p{2, 2, 8, 8, 0.3f, 0, 9};
  for (const DType type : {DType::f16, DType::bf16}) {
    Case c(11, spans.rows());
    spans.show_to(c);
    HostCall<Op> call = call_of(c, p, type);
    c.check(call);
    Op::reference(call, c.step, {});
    const std::vector<float> halves(call.out[0].as<float>(), call.out[0].as<float>() + spans.rows() * 16u);
    std::vector<float> widened(16u * p.heads);
    quant::find(type)->dequantise(call.w[0].data, widened.size(), widened.data());
    call.w[0] = {reinterpret_cast<const std::byte*>(widened.data()), DType::f32, 16, p.heads, p.heads * sizeof(float)};
    Op::reference(call, c.step, {});
    EXPECT_EQ(std::memcmp(halves.data(), call.out[0].data, halves.size() * sizeof(float)), 0);
  }
}

/// What a sequence gives is what it gives alone.
TEST(AttentionSpans, NeighboursChangeNothing) {
  const std::uint32_t lengths[] = {90, 3, 40};
  const Spans spans(lengths);
  Case c(7, spans.rows());
  spans.show_to(c);
  const ops::FlashAttnVarlenParams p{2, 2, 8, 8, 0.3f, 20, 0};
  HostCall<Op> call = call_of(c, p);
  Op::reference(call, c.step, {});
  const std::vector<float> together(call.out[0].as<float>(), call.out[0].as<float>() + spans.rows() * 16u);
  std::uint32_t first = 0;
  for (const std::uint32_t length : lengths) {
    HostCall<Op> alone = call;
    for (zrt::HostTensor* tensor : {&alone.in[0], &alone.in[1], &alone.in[2], &alone.out[0]})
      tensor->data += std::size_t{first} * 16 * sizeof(float);
    zrt::ExecutionContext step = c.step;
    step.tokens = step.extents.value[kRows] = length;
    step.slots += first;
    step.positions += first;
    Op::reference(alone, step, {});
    EXPECT_EQ(std::memcmp(together.data() + std::size_t{first} * 16, alone.out[0].data, length * 16 * sizeof(float)),
              0);
    first += length;
  }
}

}  // namespace
}  // namespace attention_spans_test
