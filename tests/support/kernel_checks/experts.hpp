// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_checks/experts.hpp: routers, experts and their sums, against the ops' references; launches are
// those of ops.hpp.
#pragma once

#include <zrt/ops/moe_gate_topk.hpp>
#include <zrt/ops/shared_expert.hpp>

#include <support/kernel_checks/ops.hpp>

namespace zrt::test::kernel_checks {

/// A matrix of f32 as kernels have it that read it value by value.
inline std::vector<std::byte> uploaded(const std::vector<float>& values, std::uint32_t rows) {
  const device::UploadFunctions& type = *device::upload_of(DType::f32);
  const auto cols = static_cast<std::uint32_t>(values.size() / rows);
  std::vector<std::byte> part(type.parts[0].bytes(rows, cols).raw(), std::byte{0xff});
  std::byte* to = part.data();
  type.write(reinterpret_cast<const std::byte*>(values.data()), std::uint64_t{cols} * 4, rows, cols, &to);
  return part;
}

struct Routing {
  std::uint32_t experts, used, groups, groups_used;
  ops::Gating gating;
  bool normalise, biased;
};

template <class Kernels> void check_routing(Kernels&& kernels, std::mt19937& random, const Routing& r) {
  constexpr std::uint32_t kTokens = 4;
  const ops::MoeGateTopkParams params{
      r.used, r.groups, r.groups_used, 1.5f, r.gating, r.normalise ? std::uint8_t{1} : std::uint8_t{0}, {}, {}};
  // The router takes the logits as they are. Of one token many are equal, of another one is NaN.
  std::vector<float> unit(std::size_t{r.experts} * r.experts), logits = reals(random, kTokens * r.experts, 4.0f),
                                                               bias = reals(random, r.experts);
  for (std::uint32_t e = 0; e < r.experts; ++e) {
    unit[e * r.experts + e] = 1.0f;
    logits[r.experts + e] = static_cast<float>(random() % 3);
  }
  std::vector<std::int32_t> ids(kTokens * r.used, -7), want_ids = ids;
  std::vector<float> weights(ids.size()), want(ids.size());
  const HostWeight router{reinterpret_cast<const std::byte*>(unit.data()), DType::f32, r.experts, r.experts,
                          std::uint64_t{r.experts} * 4};
  std::vector<std::byte> room(ops::MoeGateTopk::reference_scratch(
                                  {{InputInfo{true, {DType::f32, Shape{kTokens, r.experts}}}}, {}, {}, {}, params}, {})
                                  .raw());
  ops::MoeGateTopk::reference(
      {{tensor(logits, DType::f32, Shape{kTokens, r.experts})},
       {tensor(want_ids, DType::si32, Shape{kTokens, r.used}), tensor(want, DType::f32, Shape{kTokens, r.used})},
       {router, {}, r.biased ? vector_weight(bias) : HostWeight{}},
       {},
       params},
      ExecutionContext{}, Worker{0, 1, 0, room});
  auto m = kernels.launch("moe_route");
  m.input(logits);
  r.biased ? static_cast<void>(m.input(bias)) : m.absent();
  m.output(ids);
  m.output(weights);
  for (const std::uint32_t n : {r.experts, r.used, r.groups, r.groups_used}) m.push(n);
  m.push(params.scale);
  m.push(static_cast<std::uint32_t>(r.gating));
  m.push(std::uint32_t{params.normalise});
  m.run(kTokens);
  EXPECT_EQ(ids, want_ids);
  expect_same(weights, want);
}

/// Routers of each gating, of few experts and many, of one group and several.
template <class Kernels> void check_routers(Kernels&& kernels) {
  std::mt19937 random(11);
  const Routing all[] = {{8, 2, 1, 1, ops::Gating::softmax, true, false},
                         {33, 5, 1, 1, ops::Gating::softmax_selected, false, true},
                         {128, 8, 1, 1, ops::Gating::softmax, false, true},
                         {256, 8, 8, 4, ops::Gating::sigmoid, true, true},
                         {160, 6, 8, 3, ops::Gating::softmax, false, false},
                         {7, 7, 1, 1, ops::Gating::sigmoid, true, false},
                         {512, 10, 1, 1, ops::Gating::softmax_selected, true, false}};
  for (const Routing& r : all) {
    SCOPED_TRACE(testing::Message() << r.experts << " experts, " << r.used << " used");
    check_routing(kernels, random, r);
  }
}

/// Experts of each type, whose rows begin within a group, with rows of tokens and of pairs, with ids that do not count.
template <class Kernels> void check_experts(Kernels&& kernels) {
  std::mt19937 random(12);
  constexpr std::uint32_t kTokens = 3, kUsed = 2, kExperts = 4, kStride = 51, kFirst = 9, kRows = 37,
                          kPairs = kTokens * kUsed;
  const std::vector<std::int32_t> ids{0, 3, 2, 1, 1, 4};
  for (const device::UploadFunctions& type : kernels.types())
    for (const bool by_pair : {false, true}) {
      SCOPED_TRACE(testing::Message() << name(type.dtype) << " by pair " << by_pair);
      const KernelMatrix w(random, type.dtype, kExperts * kStride,
                           info(type.dtype).block_elems == 256 ? 512
                           : info(type.dtype).block_elems > 32 ? 384
                                                               : 96);
      const std::vector<float> x = reals(random, std::size_t{by_pair ? kPairs : kTokens} * w.cols, 5.0f),
                               bias = by_pair ? reals(random, kExperts * kRows) : std::vector<float>();
      const std::vector<float> all = product_of(w, x, {});
      std::vector<float> got(kPairs * (kRows + 3), -1.0f), want = got;
      for (std::uint32_t pair = 0; pair < kPairs; ++pair)
        for (std::uint32_t r = 0; r < kRows; ++r) {
          // Neither the third token's 4 nor the second's 1 counts.
          const auto e = static_cast<std::uint32_t>(ids[pair]);
          const float sum = all[(by_pair ? pair : pair / kUsed) * w.rows + (e % kExperts) * kStride + kFirst + r];
          want[pair * (kRows + 3) + r] = pair == 3 || pair == 5 ? 0.0f : bias.empty() ? sum : sum + bias[e * kRows + r];
        }
      std::vector<std::uint32_t> fault(1);
      const std::vector<std::byte> bias_parts = by_pair ? uploaded(bias, kExperts) : std::vector<std::byte>();
      auto m = kernels.launch("experts" + w.suffix());
      for (const std::vector<std::byte>& part : w.parts) m.input(part);
      const bool rounds = w.act() != quant::Act::none;
      const Rounded rounded(rounds ? x : std::vector<float>(), rounds ? w.act() : quant::Act::q8_32);
      rounds ? m.input(rounded.q) : m.input(x);
      if (rounds) m.input(rounded.d);
      bias.empty() ? m.absent() : static_cast<void>(m.input(bias_parts));
      m.input(ids);
      m.output(got);
      m.output(fault);
      for (const std::uint32_t n : {kRows, w.cols, kUsed, kExperts, kStride, kFirst, by_pair ? 1u : 0u, kRows + 3})
        m.push(n);
      m.run((kRows + 31) / 32, kPairs);
      expect_same(got, want);
      EXPECT_EQ(fault[0], 1u);
    }
}

/// The expert that every token takes, in place of the sum before it.
template <class Kernels> void check_shared_expert(Kernels&& kernels) {
  std::mt19937 random(13);
  constexpr std::uint32_t kTokens = 3;
  for (const std::uint32_t dim : {7u, 72u, 1031u}) {
    SCOPED_TRACE(dim);
    const std::uint32_t cols = dim + 5;
    std::vector<float> x = reals(random, kTokens * dim), branch = reals(random, kTokens * cols),
                       sum = reals(random, kTokens * cols), want(sum.size());
    const std::vector<float> gate = reals(random, dim);
    const Shape shape{kTokens, cols};
    reference(HostCall<ops::SharedExpert>{
        {tensor(x, DType::f32, Shape{kTokens, dim}), tensor(branch, DType::f32, shape), tensor(sum, DType::f32, shape)},
        {tensor(want, DType::f32, shape)},
        {vector_weight(gate)},
        {},
        {}});
    auto m = kernels.launch("shared_expert");
    m.input(x);
    m.input(branch);
    const std::uint32_t at = m.output(sum);
    m.input(gate);
    m.same_as(at);
    m.push(dim);
    m.push(cols);
    m.run(kTokens);
    expect_same(sum, want);
  }
}

}  // namespace zrt::test::kernel_checks
