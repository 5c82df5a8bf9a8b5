// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/asked.hpp: one answer that a request asks for, and what the engine says of it.
#pragma once

#include "asked_images.hpp"
#include "grammar_cache.hpp"
#include <zrt/engine/model_set.hpp>

#include <chrono>
#include <optional>
#include <vector>

namespace program::server {

/// What one choice is sampled from.
struct Asked {
  std::string tenant{};  ///< whose it is
  zrt::ModelId model{};
  zrt::AdapterId adapter{};
  std::string adapter_name{};  ///< none of the model alone
  std::vector<std::int32_t> tokens;
  zrt::Sampling sampling{};
  std::vector<zrt::TokenBias> bias;
  std::vector<std::string> stops;
  std::uint32_t max_tokens = 16;
  bool special = false;  ///< control tokens are part of the text
  bool ignore_eos = false;
  bool counts_prompt = true;  ///< the first choice of its prompt: usage counts that once
  std::uint32_t log_probabilities = 0;
  std::uint32_t prompt_log_probabilities = 0;  ///< the prompt is told too, with so many alternatives
  std::shared_ptr<const BoundGrammar> grammar{};
  std::shared_ptr<const AskedImages> images{};  ///< null of text alone
  ImageLease lease{};                           ///< room for their rows
  /// When the request came, where it has waited for something before it is submitted.
  std::optional<std::chrono::steady_clock::time_point> arrived{};
};

/// What the engine says of a choice: that it was accepted, a token of its prompt or its answer, or its end.
struct Said {
  enum class Kind : std::uint8_t { taken, prompt, token, end };

  Kind kind = Kind::token;
  std::uint32_t choice = 0;
  std::int32_t id = zrt::kNoToken;
  std::string text{};  ///< whole characters that no stop string can take back
  std::vector<zrt::TokenProbability> best{};
  float log_probability = 0.0f;  ///< of the token, where `best` was asked for; a prompt's first has neither
  bool ends_text = false;        ///< the token ends a generation, and is no part of its text
  zrt::FinishReason finish = zrt::FinishReason::none;
  std::optional<zrt::Error> error{};  ///< why it ended
  bool refused = false;               ///< the error is about the request: the engine never accepted it
  std::uint64_t retry_after_ns = 0;   ///< of a refusal for now: its tenant has too many that wait
  std::uint32_t cached_tokens = 0;    ///< of the prompt, with a token
  std::uint32_t tenant_open = 0;      ///< choices of its tenant that run or wait, itself included: where it was taken
};

}  // namespace program::server
