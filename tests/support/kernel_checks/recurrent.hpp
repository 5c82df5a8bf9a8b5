// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_checks/recurrent.hpp: mixers with recurrent state, against the ops' references; launches are those
// of ops.hpp.
#pragma once

#include <zrt/ops/ssm_conv1d.hpp>
#include <zrt/ops/ssm_delta_net.hpp>
#include <zrt/ops/ssm_gated_norm.hpp>
#include <zrt/ops/ssm_scan.hpp>

#include <support/kernel_checks/experts.hpp>

namespace zrt::test::kernel_checks {

/// A prompt, one token, and another prompt.
inline const std::vector<std::uint32_t> kSlots{2, 2, 2, 2, 2, 0, 1, 1, 1};

/// The blocks of three slots, and a step of some rows of each.
struct SlotBlocks {
  std::uint32_t floats, part;
  std::vector<std::uint32_t> slots;
  std::vector<float> values, before;
  HostState state{};
  ExecutionContext step{};

  SlotBlocks(std::mt19937& random, std::uint32_t op_floats, std::vector<std::uint32_t> of_rows)
      : floats(op_floats + 12),
        part(4),
        slots(of_rows),
        values(reals(random, std::size_t{3} * floats)),
        before(values) {
    state.data = reinterpret_cast<std::byte*>(values.data());
    state.units = 3;
    state.unit_bytes = std::uint64_t{floats} * 4;
    state.info = recurrent_block(floats);
    step.tokens = static_cast<std::uint32_t>(slots.size());
    step.slot_count = 3;
    step.slots = slots.data();
  }
};

inline HostWeight matrix_weight(const std::vector<float>& values, std::uint32_t rows) {
  const auto cols = static_cast<std::uint32_t>(values.size() / rows);
  return {reinterpret_cast<const std::byte*>(values.data()), DType::f32, rows, cols, std::uint64_t{cols} * 4};
}

template <class Kernels>
void check_convolution(Kernels&& kernels, const std::vector<std::uint32_t>& slots = kSlots,
                       std::initializer_list<std::uint32_t> sizes = {2u, 4u, 7u}) {
  std::mt19937 random(21);
  const auto rows = static_cast<std::uint32_t>(slots.size());
  for (const std::uint32_t taps : sizes)
    for (const bool biased : {false, true}) {
      SCOPED_TRACE(testing::Message() << taps << " taps");
      constexpr std::uint32_t kChannels = 131;
      SlotBlocks b(random, kChannels * (taps - 1), slots);
      std::vector<float> x = reals(random, rows * kChannels), weight = reals(random, kChannels * taps),
                         bias = reals(random, kChannels), got(x.size()), want(x.size());
      ops::SsmConv1dParams p;
      p.state = {b.part, b.floats};
      p.act = biased ? Activation::silu : Activation::none;
      const Shape shape{rows, kChannels};
      ops::SsmConv1d::reference({{tensor(x, DType::f32, shape)},
                                 {tensor(want, DType::f32, shape)},
                                 {matrix_weight(weight, kChannels), biased ? vector_weight(bias) : HostWeight{}},
                                 b.state,
                                 p},
                                b.step, Worker{});
      auto m = kernels.launch("ssm_conv1d");
      m.input(x);
      const std::vector<std::byte> parts = uploaded(weight, kChannels);
      m.input(parts);
      biased ? static_cast<void>(m.input(bias)) : m.absent();
      m.input(b.slots);
      m.output(b.before);
      m.output(got);
      for (const std::uint32_t n : {rows, kChannels, taps, b.part, b.floats, static_cast<std::uint32_t>(p.act)})
        m.push(n);
      m.run((kChannels + 63) / 64, rows);
      expect_same(got, want);
      expect_same(b.before, b.values);
    }
}

template <class Kernels>
void check_scan(Kernels&& kernels, const std::vector<std::uint32_t>& slots = kSlots,
                std::initializer_list<std::uint32_t> sizes = {5u, 16u}) {
  std::mt19937 random(22);
  const auto rows = static_cast<std::uint32_t>(slots.size());
  for (const bool by_channel : {false, true})
    for (const std::uint32_t states : sizes) {
      SCOPED_TRACE(testing::Message() << "by channel " << by_channel << ", " << states << " states");
      ops::SsmScanParams p;
      p.heads = 4;
      p.head_dim = 21;
      p.groups = by_channel ? 1 : 2;
      p.states = states;
      p.by_channel = by_channel ? 1 : 0;
      const std::uint32_t channels = p.channels(), tables = by_channel ? channels : p.heads,
                          bc_cols = 2 * p.groups * states, cols = by_channel ? channels : channels + bc_cols;
      SlotBlocks b(random, channels * states, slots);
      p.state = {b.part, b.floats};
      std::vector<float> x = reals(random, rows * cols), bc = reals(random, rows * bc_cols),
                         dt = reals(random, rows * tables, 3.0f),
                         a = reals(random, by_channel ? channels * states : p.heads), d = reals(random, tables),
                         bias = reals(random, tables), got(rows * channels), want(got.size());
      HostCall<ops::SsmScan> call{};
      call.in = {tensor(x, DType::f32, Shape{rows, cols}), tensor(dt, DType::f32, Shape{rows, tables}),
                 by_channel ? tensor(bc, DType::f32, Shape{rows, bc_cols}) : HostTensor{}};
      call.out[0] = tensor(want, DType::f32, Shape{rows, channels});
      call.w = {by_channel ? matrix_weight(a, channels) : vector_weight(a), vector_weight(d),
                states == 5 ? HostWeight{} : vector_weight(bias)};
      call.state = b.state;
      call.params = p;
      ops::SsmScan::reference(call, b.step, Worker{});
      auto m = kernels.launch("ssm_scan");
      const std::uint32_t at = m.input(x);
      m.input(dt);
      by_channel ? static_cast<void>(m.input(bc)) : m.same_as(at);
      const std::vector<std::byte> parts = uploaded(a, channels);
      by_channel ? m.input(parts) : m.input(a);
      m.input(d);
      states == 5 ? m.absent() : static_cast<void>(m.input(bias));
      m.input(b.slots);
      m.output(b.before);
      m.output(got);
      for (const std::uint32_t n : {rows, p.heads, p.head_dim, p.groups, states, by_channel ? 1u : 0u, cols,
                                    by_channel ? bc_cols : cols, by_channel ? 0u : channels, b.part, b.floats})
        m.push(n);
      m.run((channels + 63) / 64, rows);
      expect_same(got, want);
      expect_same(b.before, b.values);
    }
}

template <class Kernels>
void check_delta_net(Kernels&& kernels, const std::vector<std::uint32_t>& slots = kSlots,
                     std::initializer_list<std::uint32_t> sizes = {12u, 64u}) {
  std::mt19937 random(23);
  const auto rows = static_cast<std::uint32_t>(slots.size());
  for (const bool alternates : {false, true})
    for (const std::uint32_t key_dim : sizes) {
      SCOPED_TRACE(testing::Message() << "alternates " << alternates << ", " << key_dim);
      ops::SsmDeltaNetParams p;
      p.key_heads = 2;
      p.value_heads = 4;
      p.key_dim = key_dim;
      p.value_dim = 75;
      p.alternates = alternates ? 1 : 0;
      const auto cols = static_cast<std::uint32_t>(p.columns());
      const std::uint32_t values = p.value_heads * p.value_dim;
      SlotBlocks b(random, values * key_dim, slots);
      p.state = {b.part, b.floats};
      std::vector<float> qkv = reals(random, rows * cols), beta = reals(random, rows * p.value_heads),
                         alpha = reals(random, beta.size()), both = reals(random, 2 * beta.size()),
                         a = reals(random, p.value_heads), bias = reals(random, p.value_heads), got(rows * values),
                         want(got.size());
      HostCall<ops::SsmDeltaNet> call{};
      const Shape of_gates{rows, p.value_heads};
      call.in[0] = tensor(qkv, DType::f32, Shape{rows, cols});
      call.in[1] =
          alternates ? tensor(beta, DType::f32, of_gates) : tensor(both, DType::f32, Shape{rows, 2 * p.value_heads});
      if (alternates) call.in[2] = tensor(alpha, DType::f32, of_gates);
      call.out[0] = tensor(want, DType::f32, Shape{rows, values});
      call.w = {vector_weight(a), vector_weight(bias)};
      call.state = b.state;
      call.params = p;
      ops::SsmDeltaNet::reference(call, b.step, Worker{});
      auto m = kernels.launch("ssm_delta_net");
      m.input(qkv);
      alternates ? m.input(beta) : m.input(both);
      alternates ? static_cast<void>(m.input(alpha)) : m.absent();
      m.input(a);
      m.input(bias);
      m.input(b.slots);
      m.output(b.before);
      m.output(got);
      for (const std::uint32_t n : {rows, p.key_heads, p.value_heads, p.key_dim, p.value_dim, alternates ? 1u : 0u})
        m.push(n);
      m.push(p.norm_eps);
      m.push(b.part);
      m.push(b.floats);
      m.run(p.value_heads, rows);
      expect_same(got, want);
      expect_same(b.before, b.values);
    }
}

/// Norms of mixers, gated before and after, with one weight for all runs and one for each; in place.
template <class Kernels> void check_gated_norm(Kernels&& kernels) {
  std::mt19937 random(24);
  constexpr std::uint32_t kRuns = 6;
  for (const std::uint32_t dim : {5u, 96u, 515u})
    for (const bool first : {false, true}) {
      SCOPED_TRACE(testing::Message() << dim << " first " << first);
      const std::uint32_t groups = first ? 3 : 0, rows = kRuns / 3;
      std::vector<float> x = reals(random, kRuns * dim), z = reals(random, kRuns * dim, 4.0f), want(x.size());
      const std::vector<float> weight = reals(random, std::max(groups, 1u) * dim);
      const ops::SsmGatedNormParams p{1e-5f, dim, first ? std::uint8_t{1} : std::uint8_t{0}, {}};
      const Shape shape{rows, 3 * dim};
      reference(HostCall<ops::SsmGatedNorm>{{tensor(x, DType::f32, shape), tensor(z, DType::f32, shape)},
                                            {tensor(want, DType::f32, shape)},
                                            {first ? matrix_weight(weight, groups) : vector_weight(weight)},
                                            {},
                                            p});
      auto m = kernels.launch("ssm_gated_norm");
      const std::uint32_t at = m.output(x);
      m.input(z);
      const std::vector<std::byte> parts = uploaded(weight, std::max(groups, 1u));
      first ? m.input(parts) : m.input(weight);
      m.same_as(at);
      m.push(dim);
      m.push(p.eps);
      m.push(first ? 1u : 0u);
      m.push(groups);
      m.run(kRuns);
      expect_same(x, want);
    }
}

}  // namespace zrt::test::kernel_checks
