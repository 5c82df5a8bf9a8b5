// SPDX-License-Identifier: Apache-2.0
// zrt/engine/request.hpp: what a request asks for, and what comes back.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>
#include <zrt/engine/adapter_id.hpp>
#include <zrt/engine/string_list.hpp>
#include <zrt/engine/tenant.hpp>
#include <zrt/serve/arrival.hpp>
#include <zrt/serve/sequence.hpp>

#include <array>
#include <string_view>

namespace zrt::inline ZRT_ABI {

namespace text::grammar {
struct TokenGrammar;
}

using serve::TokenBias;

/// How the next token is chosen. The defaults are greedy.
struct Sampling {
  float temperature = 0.0f;         ///< 0: the most likely token; never below
  std::uint32_t top_k = 0;          ///< 0 for all
  float top_p = 1.0f;               ///< above 0, at most 1
  float min_p = 0.0f;               ///< 0 to 1
  float repetition_penalty = 1.0f;  ///< above 0
  float frequency_penalty = 0.0f;
  float presence_penalty = 0.0f;
  std::uint32_t penalty_window = 64;  ///< last tokens that penalties look at
  std::uint64_t seed = 0;
  Span<const TokenBias> bias{};  ///< finite, or -infinity to forbid a token
};

/// Stop tokens of one request, beside the model's own. The array is inline, so that a request needs no memory.
inline constexpr std::size_t kMaxStopTokens = 8;
/// No token's id.
inline constexpr std::int32_t kNoToken = -1;

/// Rows of embeddings that a prompt holds in place of the tokens at positions `first` and after: as they enter the first
/// layer, so a family's scale of embeddings is in them.
struct EmbeddingSpan {
  std::uint32_t first = 0;   ///< index in the prompt's tokens
  Span<const float> rows{};  ///< [rows × width], and of a model that takes features of layers [rows × width · (1 + K)]
  /// [rows × 3] where each row of an image stands: time, line and column, from 0. Empty: the rows stand one after the
  /// other, as tokens do. For a model that turns rows by all three.
  Span<const std::uint32_t> places{};
  std::uint32_t advance = 0;  ///< with places: the positions that the rows take together, 1 at least
};

/// One request. Everything it views is copied when it is submitted.
struct Request {
  std::string_view prompt{};          ///< text; ignored when `tokens` is not empty
  Span<const std::int32_t> tokens{};  ///< ids as they are: nothing is added
  /// In order, apart, and within `tokens`, which hold any id of the vocabulary there: penalties see it, the model does
  /// not. For an engine that was opened with EngineOptions::given_embeddings.
  Span<const EmbeddingSpan> embeddings{};
  bool parse_special = false;      ///< control tokens written in the prompt count as such
  std::uint32_t max_tokens = 128;  ///< generated tokens; 0 ends the request before the model reads it, but see
                                   ///< prompt_log_probabilities
  Sampling sampling{};
  std::array<std::int32_t, kMaxStopTokens> stop_tokens{kNoToken, kNoToken, kNoToken, kNoToken,
                                                       kNoToken, kNoToken, kNoToken, kNoToken};
  StringList stop_strings{};  ///< any range of strings, or one; not looked for in an answer that has a grammar
  bool ignore_eos = false;
  /// What the answer must match (zrt/text/grammar/matcher.hpp), or null. Unlike the rest it is not copied: it outlives the
  /// request. A token that ends a generation is chosen only where the answer is whole; one that is cut by max_tokens or
  /// the context is a beginning.
  const text::grammar::TokenGrammar* grammar = nullptr;
  std::uint32_t log_probabilities = 0;  ///< report this many most likely tokens with each token
  /// Tell the tokens of the prompt too (Token::in_prompt), before the first generated one, each with this many most likely
  /// tokens at its place; 0: none. The first has no such list. Then max_tokens 0 reads the prompt, and counts as 1 against
  /// a tenant's context. The numbers are those of Engine::evaluate, in chunks of any size.
  ///
  /// The prompt is read in place of any cached prefix. A step reads as many such tokens as have a row at the head:
  /// EngineOptions::logit_rows less the slots, and one of each slot. A preempted request tells none of them twice. For a
  /// client that does not read, reading stops behind a step. Not for prompts with embeddings.
  std::uint32_t prompt_log_probabilities = 0;
  /// Target time of steps with prompt tokens, of any request, while this one runs. The planner cuts prompts to fit, at
  /// the rate measured so far, but to no fewer than 16 tokens; beside the answer of an interactive tenant it cuts those of
  /// the other classes to as few as keep the answer's gaps even, however short the time. 0: the engine's option. The
  /// latency budgets of tenants (TenantQuota) hold beside it.
  std::uint64_t step_latency_ns = 0;
  TenantId tenant{};    ///< whose request it is: its quota, class and prefixes count
  SessionId session{};  ///< of that tenant; one that is not open ends the request as `failed`
  AdapterId adapter{};  ///< see Engine::load_adapter; one that is not loaded ends the request as `failed`
};

/// Names a submitted request; never reused by an engine.
enum class RequestId : std::uint64_t {};

using serve::kUntilSubmit;

enum class FinishReason : std::uint8_t {
  none,             ///< still running
  length,           ///< max_tokens reached
  context,          ///< the slot's context is full
  stop_token,       ///< an end-of-generation token or one of the request's stop tokens
  stop_string,      ///< one of the request's stop strings
  cancelled,        ///< cancel() or the stop token
  callback,         ///< the callable returned false
  failed,           ///< its data broke an op's contract, or the step failed: Token::error says which
  client_too_slow,  ///< its client did not read in time, see Engine::pause
};

[[nodiscard]] constexpr std::string_view name(FinishReason reason) noexcept {
  constexpr std::array<std::string_view, 9> names{"none",      "length",   "context", "stop_token",     "stop_string",
                                                  "cancelled", "callback", "failed",  "client_too_slow"};
  return names[static_cast<std::size_t>(reason)];
}

/// A token and its natural-log probability.
struct TokenProbability {
  std::int32_t id = kNoToken;
  float log_probability = 0.0f;
};

/// One token, as a callable receives it: generated, or of a prompt that is told. Views hold until the callable returns.
struct Token {
  std::int32_t id = kNoToken;                ///< kNoToken for held-back text that comes with the finish
  std::string_view text{};                   ///< whole UTF-8 characters that no stop string can take back; often none
  Span<const TokenProbability> best{};       ///< most likely first, if asked for
  float log_probability = 0.0f;              ///< of `id`, where `best` was asked for, among those or not
  bool in_prompt = false;                    ///< a token of the prompt, without text; of the first `best` is empty
  FinishReason finish = FinishReason::none;  ///< set on the request's last call
  const Error* error = nullptr;              ///< why, with FinishReason::failed
  std::uint64_t retry_after_ns = 0;          ///< of a request that a full queue refused: when one may find room
  std::uint32_t cached_tokens = 0;           ///< of the prompt that its tenant's prefixes had when it began
};

/// How a request ended.
struct Completion {
  FinishReason finish = FinishReason::none;
  std::uint32_t prompt_tokens = 0;
  std::uint32_t generated_tokens = 0;
};

}  // namespace zrt::inline ZRT_ABI
