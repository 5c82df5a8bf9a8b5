// SPDX-License-Identifier: Apache-2.0
// examples/zrt/server/generation_request.hpp: what a chat and a completion ask for, and the fields that both have.
#pragma once

#include "asked.hpp"
#include "fields.hpp"
#include "image_field.hpp"
#include "served_model.hpp"

namespace program::server {

inline constexpr std::size_t kMostChoices = 16;
inline constexpr std::size_t kMostStops = 16;
inline constexpr std::size_t kMostStopBytes = 256;
inline constexpr std::size_t kMostBiases = 1024;
inline constexpr std::uint32_t kPenaltyWindow = 256;
/// Alternatives of a token that are shown at most.
inline constexpr std::uint32_t kMostTop = 20;
/// The least log-probability that is shown: JSON has no infinity.
inline constexpr float kUnlikely = -9999.0f;

/// A request for text, as its reader leaves it.
struct GenerationRequest {
  std::string model{};         ///< the id that it names
  std::vector<Asked> choices;  ///< each prompt's one behind the other
  std::uint32_t prompt_tokens = 0;
  std::optional<std::uint64_t> most_open{};  ///< choices that its tenant may have at once, where that is bounded
  std::uint32_t choices_of_prompt = 1;       ///< n
  bool stream = false;
  bool include_usage = false;
  bool log_probabilities = false;
  std::uint32_t top = 0;               ///< alternatives of each token that are shown
  std::vector<std::string> echoes{};   ///< of a completion: the text in front of each choice
  std::string prompt_text{};           ///< of a chat
  bool forced_calls = false;           ///< the answer is a JSON list of calls
  bool constrained = false;            ///< the answer is what response_format asks for, and nothing else
  bool one_call = false;               ///< the first call ends the answer's calls
  bool calls = false;                  ///< the answer may call tools
  std::vector<RequestImage> images{};  ///< of a chat, in the order of its prompt
  std::vector<std::string> ignored{};  ///< names of fields that are not known
  /// Forms of the arguments of tools that it may call, if any.
  std::shared_ptr<const zrt::text::chat::ToolParameters> tools{};
};

/// Sampling, limits, stop strings and streaming of a request. Throws ApiError.
///
/// `choice` gets what all choices have in common; `request` the rest. Returns how many choices.
std::size_t read_generation_fields(Fields& fields, const ServedModel& model, Asked& choice, GenerationRequest& request);

/// Choices of one prompt: the k-th samples with the seed + k.
void add_choices(const Asked& choice, std::size_t count, GenerationRequest& request);

/// A prompt of this many tokens fits in the context. Throws ApiError.
void expect_room(const ServedModel& model, const std::string& param, std::uint64_t prompt);

/// Bounds a choice's tokens by the context. Throws ApiError for a prompt that does not fit.
void fit_context(const ServedModel& model, const std::string& param, std::optional<std::int64_t> asked, Asked& choice);

/// The model that a request names is this one. Throws ApiError 404.
void check_model(Fields& fields, const ServedModel& model);

/// Which adapter of the model a request names, if any, and its id. Throws ApiError 404.
void read_model(Fields& fields, const ServedModel& model, Asked& choice, GenerationRequest& request);

}  // namespace program::server
