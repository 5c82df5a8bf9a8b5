// SPDX-License-Identifier: Apache-2.0
// tests/support/kernel_checks/sampling.hpp: the sampler against the op's own reference: the catalog's random cases, and rows
// that are hard to order or to add up.
#pragma once

#include <zrt/ops/sample.hpp>

#include <gtest/gtest.h>

#include <property/op_cases/sample.hpp>
#include <support/kernel_checks/ops.hpp>

namespace zrt::test::kernel_checks {

/// A launch of the sampler, and what it must give.
struct SampledRows {
  std::uint32_t cols = 0, histories = 0, biases = 0;
  std::vector<float> logits{};
  std::vector<ops::SampleRequest> requests{};
  std::vector<std::int32_t> history{}, bias_ids{};
  std::vector<float> bias{};

  SampledRows(std::mt19937& random, std::uint32_t rows, std::uint32_t of_cols, float span, std::uint32_t entries = 4)
      : cols(of_cols),
        histories(entries),
        biases(entries),
        logits(reals(random, std::size_t{rows} * of_cols, span)),
        requests(rows),
        history(std::size_t{rows} * entries),
        bias_ids(history.size()),
        bias(reals(random, history.size())) {
    for (std::int32_t& id : history) id = static_cast<std::int32_t>(random() % cols);
    for (std::int32_t& id : bias_ids) id = static_cast<std::int32_t>(random() % cols);
    for (ops::SampleRequest& r : requests)
      r = {.active = 1,
           .seed_low = static_cast<std::uint32_t>(random()),
           .seed_high = static_cast<std::uint32_t>(random()),
           .temperature = 1.0f};
  }
  explicit SampledRows(const op_cases::Typed<ops::Sample>& c)
      : cols(c.in[0].type.shape[1].extent),
        histories(c.in[2].type.shape[1].extent),
        biases(c.in[3].type.shape[1].extent),
        logits(values<float>(c.in[0])),
        requests(values<ops::SampleRequest>(c.in[1])),
        history(values<std::int32_t>(c.in[2])),
        bias_ids(values<std::int32_t>(c.in[3])),
        bias(values<float>(c.in[4])) {}

  [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(requests.size()); }
  [[nodiscard]] std::span<float> row(std::uint32_t at) {
    return std::span(logits).subspan(std::size_t{at} * cols, cols);
  }

  [[nodiscard]] std::vector<std::int32_t> expected() {
    const auto host = [](auto& of, DType dtype, Shape shape) {
      return HostTensor{reinterpret_cast<std::byte*>(of.data()), {dtype, shape}};
    };
    std::vector<std::int32_t> tokens(rows());
    std::vector<std::byte> scratch(std::size_t{cols} * (sizeof(float) + sizeof(ops::Candidate)));
    ops::Sample::reference(
        {{host(logits, DType::f32, Shape{rows(), cols}),
          host(requests, DType::ui32, Shape{rows(), ops::kSampleRequestWords}),
          host(history, DType::si32, Shape{rows(), histories}), host(bias_ids, DType::si32, Shape{rows(), biases}),
          host(bias, DType::f32, Shape{rows(), biases})},
         {host(tokens, DType::si32, Shape{rows()})},
         {},
         {},
         {}},
        ExecutionContext{}, Worker{0, 1, 0, {scratch.data(), scratch.size()}});
    return tokens;
  }
  template <class Kernels> [[nodiscard]] std::vector<std::int32_t> got(Kernels& kernels) {
    std::vector<std::int32_t> tokens(rows(), -9);
    std::vector<std::uint32_t> scratch(std::size_t{rows()} * cols * 3, 0xdeadbeef);
    auto m = kernels.launch("sample");
    m.input(logits);
    m.input(requests);
    m.input(history);
    m.input(bias_ids);
    m.input(bias);
    m.output(tokens);
    m.output(scratch);
    m.push(cols);
    m.push(histories);
    m.push(biases);
    m.run(rows());
    return tokens;
  }

 private:
  template <class T> [[nodiscard]] static std::vector<T> values(const op_cases::Value& from) {
    std::vector<T> to(from.data.size() / sizeof(T));
    std::memcpy(to.data(), from.data.data(), to.size() * sizeof(T));
    return to;
  }
};

template <class Kernels> void expect_sampled(Kernels& kernels, SampledRows& rows) {
  EXPECT_EQ(rows.got(kernels), rows.expected());
}

template <class Kernels> void check_sampling_of_cases(Kernels&& kernels, std::uint32_t cases) {
  for (std::uint32_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(testing::Message() << "case " << seed);
    op_cases::Random r(seed);
    const op_cases::Batch batch = op_cases::Batch::draw(r);
    SampledRows rows(op_cases::OpCases<ops::Sample>::make(r, batch));
    expect_sampled(kernels, rows);
  }
}

/// Every number that a request may have, each with every other, at sizes below and above a tile of candidates.
template <class Kernels> void check_sampling_of_settings(Kernels&& kernels) {
  std::mt19937 random(21);
  for (const std::uint32_t cols : {1u, 63u, 1024u, 1025u, 4100u})
    for (const float temperature : {0.0f, 0.4f, 1.0f, 2.5f, 1e-30f})
      for (const std::uint32_t top_k : {0u, 1u, 40u, 1024u, 1500u}) {
        SCOPED_TRACE(testing::Message() << cols << " logits, temperature " << temperature << ", top-k " << top_k);
        SampledRows rows(random, 8, cols, temperature > 1.0f ? 60.0f : 8.0f, 40);
        for (std::uint32_t row = 0; row < rows.rows(); ++row) {
          ops::SampleRequest& r = rows.requests[row];
          r.temperature = temperature;
          r.top_k = top_k;
          r.top_p = (row & 1) != 0 ? 0.9f : 1.0f;
          r.min_p = (row & 2) != 0 ? 0.02f : 0.0f;
          r.min_keep = row == 7 ? 30 : 1;
          r.generated = row;
          if ((row & 4) == 0) continue;
          r.history = r.biases = 40;
          r.repetition_penalty = 1.3f;
          r.frequency_penalty = 0.2f;
          r.presence_penalty = -0.1f;
        }
        expect_sampled(kernels, rows);
      }
}

/// Logits that are alike, falling, rising, or no numbers; and sums of many thousand terms that end in their last bits.
template <class Kernels> void check_sampling_of_rows(Kernels&& kernels) {
  std::mt19937 random(22);
  for (const std::uint32_t cols : {3u, 2048u, 9000u})
    for (const std::uint32_t top_k : {0u, 700u}) {
      SCOPED_TRACE(testing::Message() << cols << " logits, top-k " << top_k);
      SampledRows rows(random, 16, cols, 8.0f);
      const auto fill = [&](std::uint32_t row, auto&& value) {
        for (std::uint32_t i = 0; i < cols; ++i) rows.row(row)[i] = value(i);
      };
      fill(0, [](std::uint32_t) { return 1.5f; });
      fill(1, [](std::uint32_t i) { return static_cast<float>(i % 7) * 0.5f; });
      fill(2, [](std::uint32_t i) { return static_cast<float>(i) * 1e-3f; });
      fill(3, [](std::uint32_t i) { return static_cast<float>(i) * -1e-3f; });
      fill(4, [](std::uint32_t i) { return i % 2 == 0 ? 0.0f : -0.0f; });
      fill(5, [&](std::uint32_t) { return kNan; });
      fill(6, [&](std::uint32_t i) { return i % 3 == 1 ? 2.0f : kNan; });
      fill(7, [&](std::uint32_t) { return -kInfinity; });
      fill(8, [&](std::uint32_t i) { return i % 5 == 2 ? kInfinity : 1.0f; });
      fill(9, [&](std::uint32_t i) { return i % 2 == 1 ? -kInfinity : 0.25f; });
      fill(10, [](std::uint32_t i) { return i == 1 ? 0x1p17f : 0.0f; });
      fill(11, [&](std::uint32_t i) { return rows.row(11)[i] + 20.0f / static_cast<float>(i + 1); });
      fill(12, [&](std::uint32_t i) { return 5.0f + 1e-5f * rows.row(12)[i]; });
      fill(13, [&](std::uint32_t i) { return -1e30f * (1.0f + rows.row(13)[i]); });
      for (std::uint32_t row = 0; row < rows.rows(); ++row) {
        ops::SampleRequest& r = rows.requests[row];
        r.top_k = top_k;
        r.temperature = row % 3 == 0 ? 0.8f : row % 3 == 1 ? 1.0f : 3e38f;
        if (row % 2 == 1) r.top_p = 0.999f;
        if (row % 5 == 4) r.min_p = 1.0f;
        if (row == 14) r.history = rows.histories + 1;
        if (row == 15) r.active = 0;
      }
      rows.requests[3].temperature = kNan;
      rows.requests[9].temperature = kInfinity;
      rows.requests[11].top_p = kNan;
      rows.requests[12].min_p = kNan;
      rows.requests[12].min_keep = 17;
      expect_sampled(kernels, rows);
    }
}

/// A token many times over in a long history and among the biases, and ids that are no tokens.
template <class Kernels> void check_sampling_with_lists(Kernels&& kernels) {
  std::mt19937 random(23);
  for (const std::uint32_t entries : {1u, 300u, 2100u}) {
    SCOPED_TRACE(entries);
    SampledRows rows(random, 6, 500, 2.0f, entries);
    for (std::uint32_t row = 0; row < rows.rows(); ++row) {
      ops::SampleRequest& r = rows.requests[row];
      r.temperature = row % 2 == 0 ? 0.0f : 0.7f;
      r.history = row < 4 ? entries : 0;
      r.biases = row > 1 ? entries : 0;
      r.repetition_penalty = 1.1f;
      r.frequency_penalty = 0.03f;
      r.presence_penalty = 0.2f;
      for (std::uint32_t i = row * entries; i < (row + 1) * entries; ++i) {
        if (i % 3 != 0) rows.history[i] = static_cast<std::int32_t>(i % 5);
        if (i % 4 != 0) rows.bias_ids[i] = static_cast<std::int32_t>(i % 3);
        if (i % 50 == 7) rows.history[i] = rows.bias_ids[i] = i % 2 == 0 ? -1 : 500;
      }
    }
    expect_sampled(kernels, rows);
  }
}

}  // namespace zrt::test::kernel_checks
