// SPDX-License-Identifier: Apache-2.0
// tests/kernels/experts.cpp: the kernels of a mixture of experts give the bits of their references, whatever the batch.
// test-set: smoke threads
#include <zrt/ops/catalog.hpp>

#include <algorithm>
#include <kernels/harness.hpp>
#include <limits>
#include <numeric>

namespace experts_test {
namespace {

using namespace cpu_kernels;
using quant::Act;
using zrt::HostCall;
using zrt::HostTensor;

Act act_of(DType type) { return quant::facts(type)->act; }

/// Ascending ids of `used` of so many experts for each row.
HostTensor chosen(Case& c, std::uint32_t experts, std::uint32_t used) {
  HostTensor ids = c.tensor(DType::si32, Shape{Dim(1, kRows), used});
  std::vector<std::int32_t> all(experts);
  std::iota(all.begin(), all.end(), 0);
  for (std::uint32_t t = 0; t < c.step.tokens; ++t) {
    std::shuffle(all.begin(), all.end(), c.random);
    std::sort(all.begin(), all.begin() + used);
    std::copy_n(all.begin(), used, ids.as<std::int32_t>() + t * used);
  }
  return ids;
}

/// Ids that are no expert's, that fall and that come twice.
void spoil(Case& c, const HostTensor& ids, std::uint32_t used) {
  constexpr std::int32_t kBad[]{-1, std::numeric_limits<std::int32_t>::min(), 8, 1 << 30, 0, 3};
  for (std::uint32_t t = 0; t < c.step.tokens; t += 2)
    ids.as<std::int32_t>()[t * used + c.number(0, used - 1)] = kBad[c.number(0, 5)];
}

TEST(ExpertKernels, GateAndUp) {
  constexpr std::uint32_t kExperts = 8, kUsed = 3;
  for (const auto& [type, cols, outputs] : {std::tuple{DType::f32, 40u, 24u},
                                            {DType::f16, 75u, 33u},
                                            {DType::q8_0, 96u, 48u},
                                            {DType::q4_0, 64u, 40u},
                                            {DType::mxfp4, 64u, 40u},
                                            {DType::q4_k, 256u, 40u},
                                            {DType::q6_k, 256u, 17u}})
    for (const std::uint32_t rows : {0u, 1u, 9u, 70u}) {
      SCOPED_TRACE(testing::Message() << zrt::name(type) << ", " << rows << " rows");
      Case c(rows + cols, rows);
      c.experts = kExperts;
      HostCall<ops::MoeGateUp> call{};
      call.in = {c.reals(Shape{Dim(1, kRows), cols}), chosen(c, kExperts, kUsed)};
      call.out = {c.tensor(DType::f32, Shape{Dim(1, kRows), kUsed, outputs})};
      call.w = {c.matrix(type, kExperts * outputs, cols), c.matrix(type, kExperts * outputs, cols)};
      call.params.act_gate = call.params.act_up = act_of(type);
      c.check(call);
      call.w[2] = c.vector(kExperts * outputs);
      call.w[2].rows = kExperts, call.w[2].cols = outputs;
      call.params.gated.act = zrt::Activation::swiglu_oai;
      c.check(call);
      spoil(c, call.in[1], kUsed);
      c.check(call);
      // Gate and up in one tensor; the projections of two types; no gate.
      call.w = {zrt::HostWeight{}, c.matrix(type, kExperts * 2 * outputs, cols), call.w[2], call.w[2]};
      call.params.act_gate = Act::none;
      call.params.fused = 1;
      c.check(call);
      call.w = {c.matrix(DType::f32, kExperts * outputs, cols), c.matrix(type, kExperts * outputs, cols)};
      call.params.fused = 0;
      c.check(call);
      call.w[0] = {};
      c.check(call);
    }
}

TEST(ExpertKernels, DownAndSum) {
  constexpr std::uint32_t kExperts = 8, kUsed = 3;
  for (const auto& [type, cols, outputs] :
       {std::tuple{DType::f32, 40u, 24u}, {DType::q8_0, 96u, 48u}, {DType::q5_1, 64u, 40u}, {DType::q4_k, 256u, 150u}})
    for (const std::uint32_t rows : {0u, 1u, 9u, 70u}) {
      SCOPED_TRACE(testing::Message() << zrt::name(type) << ", " << rows << " rows");
      Case c(rows + cols, rows);
      c.experts = kExperts;
      const Shape y{Dim(1, kRows), outputs};
      HostCall<ops::MoeDownAcc> call{};
      call.in = {c.reals(Shape{Dim(1, kRows), kUsed, cols}), chosen(c, kExperts, kUsed),
                 c.reals(Shape{Dim(1, kRows), kUsed})};
      call.out = {c.tensor(DType::f32, y)};
      call.w = {c.matrix(type, kExperts * outputs, cols)};
      for (const Act act : {Act::none, act_of(type)}) {
        call.params.act = act;
        c.check(call);
      }
      call.w[1] = c.vector(kExperts * outputs);
      call.w[1].rows = kExperts, call.w[1].cols = outputs;
      call.w[2] = c.vector(kExperts);
      call.in[3] = c.reals(y);
      c.check(call);
      spoil(c, call.in[1], kUsed);
      c.check(call);
      call.out[0] = call.in[3];
      c.check(call);
    }
}

TEST(ExpertKernels, Routing) {
  for (const std::uint32_t rows : {0u, 1u, 9u, 70u})
    for (std::uint8_t gating = 0; gating < ops::kGatings; ++gating)
      for (const auto& [experts, used, groups, groups_used] :
           {std::tuple{1u, 1u, 1u, 1u}, {64u, 8u, 1u, 1u}, {64u, 8u, 8u, 4u}, {100u, 100u, 1u, 1u}, {6u, 2u, 3u, 1u}}) {
        SCOPED_TRACE(testing::Message() << int{gating} << ", " << experts << " experts, " << rows << " rows");
        Case c(rows + experts, rows);
        const Shape out{Dim(1, kRows), used};
        HostCall<ops::MoeGateTopk> call{};
        call.in[0] = c.reals(Shape{Dim(1, kRows), 64});
        call.out = {c.tensor(DType::si32, out), c.tensor(DType::f32, out)};
        call.w = {c.matrix(DType::f32, experts, 64)};
        call.params = {used, groups, groups_used, 1.0f, static_cast<ops::Gating>(gating)};
        c.check(call);
        call.w[1] = c.vector(experts);
        call.w[2] = c.vector(experts);
        call.params.normalise = 1;
        call.params.scale = 2.5f;
        c.check(call);
        call.w[0] = c.matrix(DType::q8_0, experts, 64);
        call.params.act = Act::q8_32;
        c.check(call);
        // Ties, infinities and no numbers.
        call.params.act = Act::none;
        call.w = {c.matrix(DType::f32, experts, 64), c.vector(experts)};
        for (std::uint32_t i = 0; i < experts * 64; ++i)
          reinterpret_cast<float*>(const_cast<std::byte*>(call.w[0].data))[i] = 0.0f;
        for (std::uint32_t e = 0; e < experts; ++e)
          reinterpret_cast<float*>(const_cast<std::byte*>(call.w[1].data))[e] =
              e % 5 == 1   ? std::numeric_limits<float>::quiet_NaN()
              : e % 5 == 3 ? std::numeric_limits<float>::infinity() * (e % 2 == 0 ? 1.0f : -1.0f)
                           : static_cast<float>(e % 3);
        c.check(call);
      }
}

TEST(ExpertKernels, SharedExpert) {
  for (const std::uint32_t rows : {0u, 1u, 9u}) {
    Case c(rows, rows);
    const Shape y{Dim(1, kRows), 77};
    HostCall<ops::SharedExpert> call{
        {c.reals(Shape{Dim(1, kRows), 45}), c.reals(y), c.reals(y)}, {c.tensor(DType::f32, y)}, {c.vector(45)}};
    c.check(call);
    call.out[0] = call.in[1];
    c.check(call);
    call.out[0] = call.in[2];
    c.check(call);
  }
}

}  // namespace
}  // namespace experts_test
