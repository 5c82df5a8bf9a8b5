// SPDX-License-Identifier: Apache-2.0
// tests/flags/op_bits.hpp: digests of what references and samplers compute in plain expressions, which a compiler may be allowed to contract.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/ops/flash_attn_batched.hpp>
#include <zrt/ops/lm_head.hpp>
#include <zrt/ops/rope.hpp>
#include <zrt/ops/sampling.hpp>

#include <array>
#include <bit>
#include <cstdio>

namespace op_bits {

using namespace zrt;

/// Numbers made of integers alone, so that no flag can change them.
class Random {
 public:
  std::uint32_t next() noexcept {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  /// An f32 of random mantissa and sign, 2^-4 .. 2^3 in size.
  float number() noexcept {
    const std::uint32_t bits = next();
    return std::bit_cast<float>((bits & 1u) << 31 | (123u + (bits >> 1) % 7u) << 23 | (next() & 0x7fffffu));
  }

 private:
  std::uint64_t state_ = 7;
};

class Digest {
 public:
  template <class T> void add(T value) noexcept {
    for (const auto byte : std::bit_cast<std::array<unsigned char, sizeof(T)>>(value))
      value_ = (value_ ^ byte) * 0x100000001b3u;
  }
  void print(const char* what) const noexcept {
    std::printf("bits %s %016llx\n", what, static_cast<unsigned long long>(value_));
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

inline void penalties(Random& random) {
  Digest digest;
  for (int round = 0; round < 200; ++round) {
    std::array<float, 64> logits;
    for (float& x : logits) x = random.number();
    std::array<std::int32_t, 24> history;
    for (std::int32_t& id : history) id = static_cast<std::int32_t>(random.next() % 64);
    const float frequency = random.number();
    const float presence = random.number();
    ops::sampling::penalise(logits, history, 1.0f + 0.25f * static_cast<float>(round % 7), frequency, presence);
    const std::array<std::int32_t, 2> ids{3, 9};
    const std::array<float, 2> values{random.number(), random.number()};
    ops::sampling::bias(logits, ids, values);
    for (float x : logits) digest.add(x);
  }
  digest.print("penalties");
}

inline void attention(Random& random) {
  constexpr std::uint32_t kDim = 8, kTokens = 40, kPages = 3;
  Digest digest;
  for (int round = 0; round < 50; ++round) {
    std::array<float, 2 * kDim> q, y{};
    for (float& x : q) x = random.number();
    std::array<float, kPages * kPageTokens * 2 * kDim> memory;
    for (float& x : memory) x = random.number();
    HostCall<ops::FlashAttnBatched> call;
    const TensorType type{DType::f32, Shape{1, 2 * kDim}};
    call.in[0] = {reinterpret_cast<std::byte*>(q.data()), type};
    call.out[0] = {reinterpret_cast<std::byte*>(y.data()), type};
    call.state = {reinterpret_cast<std::byte*>(memory.data()),
                  kPageTokens * 2 * kDim * sizeof(float),
                  kPages,
                  {StateLifecycle::kv_paged, DType::f32, 0, 0, {1, kDim, kDim}}};
    call.params.heads = 2;
    call.params.kv_heads = 1;
    call.params.key_dim = call.params.value_dim = kDim;
    call.params.scale = 0.3f;
    call.params.soft_cap = 5.3f;
    constexpr std::array<std::uint32_t, kPages> pages{2, 0, 1};
    constexpr std::uint32_t slot = 0, position = kTokens - 1;
    ExecutionContext step;
    step.tokens = 1;
    step.slots = &slot;
    step.positions = &position;
    step.pages = pages.data();
    step.pages_per_slot = kPages;
    step.slot_count = 1;
    ops::FlashAttnBatched::reference(call, step, {});
    for (float x : y) digest.add(x);
  }
  digest.print("attention");
}

/// Arguments next to where the nearest whole multiple of ln 2 changes.
inline void exponentials() {
  Digest digest;
  for (int half = -4001; half < 4001; half += 2)
    for (int ulp = -4; ulp <= 4; ++ulp) {
      const auto bits = std::bit_cast<std::uint64_t>(half * (0.5 * 0x1.62e42fefa39efp-1));
      const double x = std::bit_cast<double>(bits + static_cast<std::uint64_t>(static_cast<std::int64_t>(ulp)));
      digest.add(math::exp64(x / 2.0));
      digest.add(math::exp64(x / 4.0));
      digest.add(math::sincos64(x * 4.0).sin);
    }
  digest.print("exponentials");
}

inline void angles(Random& random) {
  Digest digest;
  ops::RopeParams params;
  params.head_dim = params.n_rot = 16;
  for (std::uint32_t position = 0; position < 5000; position += 7) {
    std::array<float, 8> frequency;
    for (std::uint32_t i = 0; i < 8; ++i) frequency[i] = ops::rope_frequency(params, nullptr, i);
    ops::Rope::Angles angles;
    ops::Rope::angles(params, frequency.data(), 1.1f, position, angles);
    std::array<float, 16> x;
    for (float& v : x) v = random.number();
    ops::Rope::rotate(params, angles, x.data());
    for (float v : x) digest.add(v);
  }
  digest.print("angles");
}

/// Prints a line for each digest.
inline void print() {
  Random random;
  penalties(random);
  attention(random);
  exponentials();
  angles(random);
}

}  // namespace op_bits
