// SPDX-License-Identifier: Apache-2.0
// tests/unit/ssm_delta_net.cpp: the gated delta rule against its formula in f64, for both maps of heads and both layouts of gates.
#include <zrt/ops/ssm_delta_net.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <data/models/tiny_models.hpp>
#include <vector>

namespace ssm_delta_net_test {
namespace {

using namespace zrt;
using ops::SsmDeltaNet;

constexpr std::uint32_t kKeyHeads = 2, kEach = 3, kHeads = kKeyHeads * kEach, kKeys = 5, kValues = 20, kTokens = 7;
constexpr std::uint32_t kColumns = 2 * kKeyHeads * kKeys + kHeads * kValues;

struct Inputs {
  std::vector<float> qkv, beta, alpha, a, bias;

  Inputs() {
    test::TinyRandom random(5);
    const auto draw = [&](std::vector<float>& to, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) to.push_back(random.signed_unit());
    };
    draw(qkv, kTokens * kColumns);
    draw(beta, kTokens * kHeads);
    draw(alpha, kTokens * kHeads);
    draw(a, kHeads);
    draw(bias, kHeads);
  }
  /// By key head: the betas of its value heads, then their alphas.
  [[nodiscard]] std::vector<float> fused() const {
    std::vector<float> both;
    for (std::uint32_t t = 0; t < kTokens; ++t)
      for (std::uint32_t k = 0; k < kKeyHeads; ++k)
        for (const auto* gates : {&beta, &alpha})
          for (std::uint32_t i = 0; i < kEach; ++i) both.push_back((*gates)[t * kHeads + k * kEach + i]);
    return both;
  }
};

std::vector<double> formula(const Inputs& in, bool alternates) {
  std::vector<double> y;
  std::vector<double> state(kHeads * kKeys * kValues);
  for (std::uint32_t t = 0; t < kTokens; ++t)
    for (std::uint32_t h = 0; h < kHeads; ++h) {
      const std::uint32_t key_head = alternates ? h % kKeyHeads : h / kEach;
      const float* q = in.qkv.data() + t * kColumns + key_head * kKeys;
      const float* k = q + kKeyHeads * kKeys;
      const float* v = in.qkv.data() + t * kColumns + 2 * kKeyHeads * kKeys + h * kValues;
      double q_norm = 0, k_norm = 0;
      for (std::uint32_t i = 0; i < kKeys; ++i) {
        q_norm += double{q[i]} * double{q[i]};
        k_norm += double{k[i]} * double{k[i]};
      }
      const std::uint32_t gate = t * kHeads + h;
      const double dt = std::log1p(std::exp(double{in.alpha[gate]} + double{in.bias[h]}));
      const double decay = std::exp(double{in.a[h]} * dt);
      const double beta = 1.0 / (1.0 + std::exp(-double{in.beta[gate]}));
      double* s = state.data() + h * kKeys * kValues;
      for (std::uint32_t j = 0; j < kValues; ++j) {
        double found = 0, sum = 0;
        for (std::uint32_t i = 0; i < kKeys; ++i) {
          s[i * kValues + j] *= decay;
          found += s[i * kValues + j] * double{k[i]} / std::sqrt(k_norm);
        }
        for (std::uint32_t i = 0; i < kKeys; ++i) {
          s[i * kValues + j] += double{k[i]} / std::sqrt(k_norm) * beta * (double{v[j]} - found);
          sum += s[i * kValues + j] * double{q[i]} / std::sqrt(q_norm * kKeys);
        }
        y.push_back(sum);
      }
    }
  return y;
}

TEST(SsmDeltaNet, FollowsItsFormulaForBothMapsOfHeadsAndBothLayoutsOfGates) {
  Inputs in;
  std::vector<float> both = in.fused();
  for (const bool alternates : {false, true})
    for (const bool fused : {false, true}) {
      HostCall<SsmDeltaNet> c;
      c.params = {.key_heads = kKeyHeads,
                  .value_heads = kHeads,
                  .key_dim = kKeys,
                  .value_dim = kValues,
                  .state = {0, kHeads * kKeys * kValues},
                  .alternates = alternates ? std::uint8_t{1} : std::uint8_t{0}};
      const auto tensor = [](std::vector<float>& data, std::uint32_t cols) {
        return HostTensor{reinterpret_cast<std::byte*>(data.data()), {DType::f32, Shape{kTokens, cols}}};
      };
      const auto weight = [](const std::vector<float>& data) {
        return HostWeight{reinterpret_cast<const std::byte*>(data.data()), DType::f32, 1, kHeads, kHeads * 4};
      };
      std::vector<float> y(kTokens * kHeads * kValues), state(kHeads * kKeys * kValues);
      c.in[0] = tensor(in.qkv, kColumns);
      c.in[1] = fused ? tensor(both, 2 * kHeads) : tensor(in.beta, kHeads);
      if (!fused) c.in[2] = tensor(in.alpha, kHeads);
      c.out[0] = tensor(y, kHeads * kValues);
      c.w = {weight(in.a), weight(in.bias)};
      c.state = {reinterpret_cast<std::byte*>(state.data()), state.size() * 4, 1,
                 recurrent_block(c.params.state.total)};
      const std::vector<std::uint32_t> slots(kTokens, 0);
      ExecutionContext step;
      step.tokens = kTokens;
      step.slots = slots.data();
      SsmDeltaNet::reference(c, step, {});
      const std::vector<double> expected = formula(in, alternates);
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(double{y[i]}, expected[i], 1e-6 * (1.0 + std::abs(expected[i])))
            << i << ", alternates " << alternates << ", fused " << fused;
    }
}

}  // namespace
}  // namespace ssm_delta_net_test
