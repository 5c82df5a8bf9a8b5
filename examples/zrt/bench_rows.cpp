// SPDX-License-Identifier: Apache-2.0
// examples/zrt/bench_rows.cpp: timed prefill and decode of an open model.
#include "bench_rows.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

namespace program {

double Timed::total() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

double Timed::percentile(double share) const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.empty()) return 0.0;
  const double rank = std::ceil(share * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

namespace {

using Clock = std::chrono::steady_clock;

/// Tokens that differ from place to place and from sequence to sequence.
std::vector<std::int32_t> some_tokens(const Model& model, std::uint32_t count, std::uint32_t sequence) {
  std::vector<std::int32_t> ids(count);
  for (std::uint32_t i = 0; i < count; ++i)
    ids[i] = static_cast<std::int32_t>((7u + 31u * i + 97u * sequence) % model.config().vocabulary);
  return ids;
}

zrt::Result<void> submit_all(Model& model, const BenchLoad& load, std::uint32_t prompt, std::uint32_t generated) {
  for (std::uint32_t s = 0; s < load.batch; ++s) {
    const std::vector<std::int32_t> ids = some_tokens(model, prompt, s);
    zrt::Request request;
    request.tokens = ids;
    request.max_tokens = generated;
    request.ignore_eos = true;
    if (const auto id = model.submit(request); !id) return zrt::pass(id);
  }
  return {};
}

zrt::Result<double> timed_step(Model& model, std::size_t& left, std::uint32_t& heard) {
  const auto start = Clock::now();
  const auto result = model.step([&](zrt::RequestId, const zrt::Token& token) {
    heard += token.id != zrt::kNoToken ? 1u : 0u;
    return true;
  });
  if (!result) return zrt::pass(result);
  left = *result;
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

zrt::Result<Timed> time_prefill(Model& model, const BenchLoad& load) {
  Timed timed;
  for (std::uint32_t r = 0; r <= load.repetitions; ++r) {
    if (auto s = submit_all(model, load, load.tokens, 1); !s) return zrt::pass(s);
    std::uint32_t heard = 0;
    for (std::size_t left = load.batch; left != 0;) {
      const auto seconds = timed_step(model, left, heard);
      if (!seconds) return zrt::pass(seconds);
      if (r != 0) timed.seconds.push_back(*seconds);  // the first run warms up
    }
  }
  const double steps = static_cast<double>(timed.seconds.size()) / load.repetitions;
  const double n = load.tokens;
  timed.tokens_per_step = n * load.batch / steps;
  timed.visible = n * (n + 1.0) / 2.0 * load.batch / steps;
  timed.cached = n * load.batch / steps;
  timed.rows = load.batch / steps;
  return timed;
}

zrt::Result<Timed> time_decode(Model& model, const BenchLoad& load) {
  Timed timed;
  // A decode continues at least one token; the step that reads the prompt gives the first new one.
  const std::uint32_t prompt = std::max(load.depth, 1u);
  for (std::uint32_t r = 0; r <= load.repetitions; ++r) {
    if (auto s = submit_all(model, load, prompt, load.tokens + 1); !s) return zrt::pass(s);
    // Behind a step that gave every sequence a token no prompt is left to read.
    bool decoding = false;
    for (std::size_t left = load.batch; left != 0;) {
      std::uint32_t heard = 0;
      const auto seconds = timed_step(model, left, heard);
      if (!seconds) return zrt::pass(seconds);
      const bool all = heard == load.batch;
      if (r != 0 && decoding && all) timed.seconds.push_back(*seconds);
      decoding = all;
    }
  }
  const double positions = prompt + (load.tokens + 1.0) / 2.0;
  timed.tokens_per_step = timed.rows = load.batch;
  timed.visible = timed.cached = positions * load.batch;
  return timed;
}

}  // namespace program
