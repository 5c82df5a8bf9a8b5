// SPDX-License-Identifier: Apache-2.0
// tests/support/adapted_answers.hpp: what an engine answers with adapters, for comparing it with another engine.
#pragma once

#include <zrt/engine/options.hpp>
#include <zrt/engine/request.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <data/models/tiny_adapters.hpp>
#include <map>
#include <vector>

namespace zrt::test {

[[nodiscard]] inline EngineOptions room_for_adapters() {
  EngineOptions options;
  options.slots = 3;
  options.context = 64;
  options.chunk = 16;
  options.adapters = 2;
  // No whole piece of a device's loads.
  options.adapter_rank = 6;
  return options;
}

/// Tokens and the bits of log-probabilities of requests to a tiny model: two with adapters and one without, in the same
/// steps. The second adapter comes when a request has run already, in place of another one that went.
template <class E> [[nodiscard]] std::vector<std::vector<std::uint32_t>> adapted_answers(E& engine) {
  const auto load = [&](const AdapterSpec& spec) {
    const auto id = engine.load_adapter(tiny_adapter(spec).bytes());
    EXPECT_TRUE(id) << id.error().text();
    return id ? *id : AdapterId{};
  };
  std::map<RequestId, std::vector<std::uint32_t>> heard;
  const auto submit = [&](std::size_t tokens, AdapterId adapter) {
    const std::vector<std::int32_t> prompt = tiny_prompt(64, tokens, 3);
    Request r;
    r.tokens = prompt;
    r.max_tokens = 5;
    r.ignore_eos = true;
    r.log_probabilities = 8;
    r.adapter = adapter;
    const auto id = engine.submit(r);
    EXPECT_TRUE(id) << id.error().text();
    if (id) heard[*id];
  };
  const auto run = [&] {
    for (std::size_t left = 1; left != 0;) {
      const auto step = engine.step([&](RequestId id, const Token& token) {
        EXPECT_NE(token.finish, FinishReason::failed) << token.error->text();
        if (token.id != kNoToken) heard[id].push_back(static_cast<std::uint32_t>(token.id));
        for (const TokenProbability& best : token.best)
          heard[id].push_back(std::bit_cast<std::uint32_t>(best.log_probability));
        return true;
      });
      EXPECT_TRUE(step) << step.error().text();
      left = step ? *step : 0;
    }
  };
  const AdapterId first = load({.weights = tiny_projections(), .seed = 2});
  const AdapterId replaced = load({.weights = tiny_projections(), .seed = 9});
  submit(7, replaced);
  run();
  EXPECT_TRUE(engine.unload_adapter(replaced));
  const AdapterId second =
      load({.weights = {{"blk.1.attn_q.weight", 32, 32}, {"blk.1.ffn_down.weight", 64, 32}}, .rank = 6, .seed = 3});
  for (const AdapterId adapter : {first, second, AdapterId{}}) submit(21, adapter);
  run();
  std::vector<std::vector<std::uint32_t>> answers;
  for (auto& [id, said] : heard) answers.push_back(std::move(said));
  return answers;
}

}  // namespace zrt::test
