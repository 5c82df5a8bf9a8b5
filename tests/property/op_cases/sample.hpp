// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/sample.hpp: random cases of sample.
#pragma once

#include <zrt/ops/sample.hpp>

#include <cmath>
#include <limits>
#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Sample> {
  using Op = zrt::ops::Sample;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t vocabulary = r.one_of({r.between(1, 150), r.between(120, 600), r.between(1000, 2500)});
    const std::uint32_t histories = r.one_of({r.between(1, 20), r.between(60, 90)});
    const std::uint32_t biases = r.between(1, 4);
    std::vector<zrt::ops::SampleRequest> requests(b.tokens());
    for (auto& q : requests) {
      q.active = r.between(0, 4) == 0 ? 0 : 1;
      q.seed_low = r.between(0, 1u << 30);
      q.generated = r.between(0, 1000);
      q.temperature = r.one_of({0.0f, -1.0f, 0.7f, 1.0f, 1.3f, 9.0f, 1e30f, 1e-30f, 1e-42f});
      q.top_k = r.one_of({0u, 1u, 5u, 40u, 64u, 65u, 300u, 512u, 513u, 1u << 31});
      q.top_p = r.one_of({1.0f, 0.9f, 0.1f, 1e-9f});
      q.min_p = r.one_of({0.0f, 0.05f, 1.0f});
      q.min_keep = r.one_of({1u, 1u, 0u, 3u, 20u, 5000u});
      q.repetition_penalty = r.one_of({1.0f, 1.2f});
      q.frequency_penalty = r.one_of({0.0f, 0.3f});
      q.presence_penalty = r.one_of({0.0f, 0.2f});
      q.history = r.between(0, histories);
      q.biases = r.between(0, biases);
    }
    Typed<Op> c;
    const float span = r.one_of({8.0f, 8.0f, 60.0f, 1e6f});
    c.in[0] = f32(r, b, Shape{kRows, vocabulary}, -span, span);
    if (r.chance()) vary(r, c.in[0], r.one_of({vocabulary, 50u, 3u}));
    c.in[1] = {true, {DType::ui32, Shape{kRows, zrt::ops::kSampleRequestWords}}, bytes_of(requests)};
    c.in[2] = si32(r, b, Shape{kRows, histories}, 0, r.one_of({vocabulary + 1, 4u}));
    c.in[3] = si32(r, b, Shape{kRows, biases}, 0, vocabulary);
    c.in[4] = f32(r, b, Shape{kRows, biases});
    if (r.chance()) forbid(r, c.in[0], vocabulary);
    return c;
  }

  /// Rows of which no token may be drawn, or one alone.
  static void forbid(Random& r, Value& logits, std::uint32_t vocabulary) {
    constexpr float kForbidden = -std::numeric_limits<float>::infinity();
    const std::size_t row = vocabulary * sizeof(float);
    for (std::size_t begin = 0; begin < logits.data.size(); begin += row) {
      if (r.chance()) continue;
      const std::size_t stays = r.chance() ? r.between(0, vocabulary - 1) * sizeof(float) : row;
      for (std::size_t at = 0; at < row; at += sizeof(float))
        if (at != stays) std::memcpy(&logits.data[begin + at], &kForbidden, sizeof kForbidden);
    }
  }

  /// Logits with many that are equal, both zeros among them, and about one in `rarity` that is no number.
  static void vary(Random& r, Value& logits, std::uint32_t rarity) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const float step = r.one_of({0.0f, 0.25f, 4.0f});
    for (std::size_t at = 0; at < logits.data.size(); at += sizeof(float)) {
      float x = 0.0f;
      std::memcpy(&x, &logits.data[at], sizeof x);
      if (step != 0.0f) x = step * std::round(x / step);
      if (r.between(0, rarity) == 0) x = r.one_of({std::numeric_limits<float>::quiet_NaN(), -kInfinity, kInfinity});
      std::memcpy(&logits.data[at], &x, sizeof x);
    }
  }
};

}  // namespace op_cases
