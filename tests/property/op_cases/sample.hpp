// SPDX-License-Identifier: Apache-2.0
// tests/property/op_cases/sample.hpp: random cases of sample.
#pragma once

#include <zrt/ops/sample.hpp>

#include <property/op_cases/op_case.hpp>

namespace op_cases {

template <> struct OpCases<zrt::ops::Sample> {
  using Op = zrt::ops::Sample;
  static Typed<Op> make(Random& r, const Batch& b) {
    const std::uint32_t vocabulary = r.between(1, 150);
    const std::uint32_t histories = r.between(1, 20);
    const std::uint32_t biases = r.between(1, 4);
    std::vector<zrt::ops::SampleRequest> requests(b.tokens());
    for (auto& q : requests) {
      q.active = r.between(0, 4) == 0 ? 0 : 1;
      q.seed_low = r.between(0, 1u << 30);
      q.generated = r.between(0, 1000);
      q.temperature = r.one_of({0.0f, 0.7f, 1.3f});
      q.top_k = r.one_of({0u, 5u, 40u});
      q.top_p = r.one_of({1.0f, 0.9f});
      q.min_p = r.one_of({0.0f, 0.05f});
      q.repetition_penalty = r.one_of({1.0f, 1.2f});
      q.frequency_penalty = r.one_of({0.0f, 0.3f});
      q.presence_penalty = r.one_of({0.0f, 0.2f});
      q.history = r.between(0, histories);
      q.biases = r.between(0, biases);
    }
    Typed<Op> c;
    c.in[0] = f32(r, b, Shape{kRows, vocabulary}, -8.0f, 8.0f);
    c.in[1] = {true, {DType::ui32, Shape{kRows, zrt::ops::kSampleRequestWords}}, bytes_of(requests)};
    c.in[2] = si32(r, b, Shape{kRows, histories}, 0, vocabulary - 1);
    c.in[3] = si32(r, b, Shape{kRows, biases}, 0, vocabulary - 1);
    c.in[4] = f32(r, b, Shape{kRows, biases});
    return c;
  }
};

}  // namespace op_cases
