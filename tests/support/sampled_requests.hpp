// SPDX-License-Identifier: Apache-2.0
// tests/support/sampled_requests.hpp: requests with random choices, and what an engine answers to one alone.
#pragma once

#include <gtest/gtest.h>

#include <support/engines.hpp>
#include <vector>

namespace zrt::test {

/// A request that generates `max_tokens` tokens, whatever they are.
[[nodiscard]] inline Request sampled_request(std::span<const std::int32_t> prompt, std::uint64_t seed,
                                             std::uint32_t max_tokens) {
  Request r;
  r.tokens = prompt;
  r.max_tokens = max_tokens;
  r.ignore_eos = true;
  r.sampling.temperature = 1.0f;
  r.sampling.seed = seed;
  return r;
}

/// All tokens of a request that has an engine for itself.
[[nodiscard]] inline std::vector<std::int32_t> tokens_alone(HostEngine& engine, const Request& r) {
  std::vector<std::int32_t> ids;
  const auto done = engine.generate(r, [&](const Token& token) {
    if (token.id != kNoToken) ids.push_back(token.id);
    return true;
  });
  EXPECT_TRUE(done) << done.error().text();
  EXPECT_EQ(ids.size(), r.max_tokens);
  return ids;
}

}  // namespace zrt::test
