// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/asked.hpp: one answer that a request asks for, and what the engine says of it.
#pragma once

#include "grammar_cache.hpp"
#include <zrt/engine/request.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace program::server {

/// Who asks, as a scheduler of tenants wants to know it.
struct Asker {
  std::string tenant;
  std::string priority;  ///< interactive, standard or batch
};

/// What one choice is sampled from.
struct Asked {
  Asker asker{};
  std::vector<std::int32_t> tokens;
  zrt::Sampling sampling{};
  std::vector<zrt::TokenBias> bias;
  std::vector<std::string> stops;
  std::uint32_t max_tokens = 16;
  bool special = false;  ///< control tokens are part of the text
  bool ignore_eos = false;
  std::uint32_t log_probabilities = 0;
  std::shared_ptr<const BoundGrammar> grammar{};
};

/// What the engine says of a choice: that it was taken, a token, or its end.
struct Said {
  enum class Kind : std::uint8_t { taken, token, end };

  Kind kind = Kind::token;
  std::uint32_t choice = 0;
  std::int32_t id = zrt::kNoToken;
  std::string text{};  ///< whole characters that no stop string can take back
  std::vector<zrt::TokenProbability> best{};
  zrt::FinishReason finish = zrt::FinishReason::none;
  std::optional<zrt::Error> error{};  ///< why it ended
  bool refused = false;               ///< the error is about the request: the engine never took it
};

}  // namespace program::server
