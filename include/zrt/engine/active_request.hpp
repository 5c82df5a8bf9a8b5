// SPDX-License-Identifier: Apache-2.0
// zrt/engine/active_request.hpp: a request with everything that it owns while it runs.
#pragma once

#include <zrt/core/owned.hpp>
#include <zrt/engine/check_sampling.hpp>
#include <zrt/engine/options.hpp>
#include <zrt/engine/request.hpp>
#include <zrt/engine/stop_strings.hpp>
#include <zrt/engine/token_queue.hpp>
#include <zrt/serve/draft_length.hpp>
#include <zrt/serve/handle.hpp>
#include <zrt/text/detokenizer.hpp>
#include <zrt/text/grammar/matcher.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::detail {

/// One submitted request: its sequence, its text on the way out, its limits.
struct ActiveRequest {
  ActiveRequest(RequestId request, const Allocator& a) noexcept
      : id(request), sequence(a), stops(a), best(a), prompt_best(a), drawn(a) {}

  RequestId id;
  serve::Sequence sequence;
  StopStrings stops;
  std::optional<text::Detokenizer> text;
  std::optional<text::grammar::Matcher> matcher;  ///< of a request with a grammar
  Vector<TokenProbability> best;
  Vector<TokenProbability> prompt_best;  ///< of a request whose prompt is told; else empty
  std::array<std::int32_t, kMaxStopTokens> stop_tokens{};
  std::uint32_t max_tokens = 0;
  std::uint32_t generated = 0;
  bool ignore_eos = false;
  TenantId tenant{};
  SessionId session{};
  AdapterId adapter{};
  std::uint32_t tenant_row = 0;             ///< the mailbox's
  std::uint64_t submitted = 0;              ///< its number among those that came by the mailbox
  Owned<ActiveRequest> younger;             ///< behind it in its tenant's queue, of UnreadRequests, and
  ActiveRequest* older = nullptr;           ///< before it
  ActiveRequest* next_in_bucket = nullptr;  ///< of RequestTable
  serve::Handle handle = 0;                 ///< the scheduler's name of it
  TokenQueue drawn;                         ///< not yet with the client
  serve::DraftLength ngram_luck{};
  serve::DraftLength model_luck{};
  bool model_guesses = false;                ///< the step's guesses are of a draft model
  FinishReason finish = FinishReason::none;  ///< how it ends, once that is known
  std::optional<Error> error;                ///< of its own
  std::uint64_t retry_after_ns = 0;          ///< of a refusal
  std::uint32_t cached_tokens = 0;           ///< where it began; a preempted request has more at hand later
  bool unread = false;                       ///< it is in UnreadRequests
  bool cancel_noted = false;                 ///< the mailbox has a note of its cancellation
  bool paused = false;                       ///< its client does not read
  bool began = false;                        ///< it had a slot
  bool silent = false;                       ///< its callable hears nothing more
  bool told_first = false;                   ///< the prompt's first token

  /// Of whoever made the step's guesses.
  [[nodiscard]] serve::DraftLength& luck() noexcept { return model_guesses ? model_luck : ngram_luck; }
};

/// Copies where the rows of a span stand, for a model of `axes`.
///
/// Errors: Errc::invalid_argument naming the span.
[[nodiscard]] inline Result<void> take_places(const EmbeddingSpan& span, std::size_t number, std::uint32_t axes,
                                              serve::GivenRows& given, serve::Sequence& sequence) noexcept {
  if (span.places.empty() && span.advance == 0) return {};
  if (axes == 0)
    return fail(Errc::invalid_argument, "span ", number, " of embeddings has places, but the model has one axis");
  if (span.places.size() != std::size_t{given.rows} * axes || span.advance == 0 || span.advance > given.rows)
    return fail(Errc::invalid_argument, "span ", number, " of embeddings has ", span.places.size(), " places for ",
                given.rows, " rows and takes ", span.advance, " positions, expected ", axes,
                " places a row and 1 position to one a row");
  for (const std::uint32_t place : span.places)
    if (place >= span.advance)
      return fail(Errc::invalid_argument, "span ", number, " of embeddings has a place ", place, ", expected 0..",
                  span.advance - 1);
  given.places = sequence.places.size();
  given.advance = span.advance;
  return sequence.places.append(span.places);
}

/// Copies the embeddings of a request, rows of `width`, into the places of its `sequence`, and where they stand on the
/// model's `axes`.
///
/// Errors: Errc::invalid_argument naming the span.
[[nodiscard]] inline Result<void> take_embeddings(const Request& request, std::uint32_t width, std::uint32_t axes,
                                                  serve::Sequence& sequence) noexcept {
  if (request.embeddings.empty()) return {};
  if (request.tokens.empty()) return fail(Errc::invalid_argument, "a prompt with embeddings is given as tokens");
  if (width == 0)
    return fail(Errc::invalid_argument,
                "the prompt has embeddings; EngineOptions::given_embeddings opens an engine that takes them");
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < request.embeddings.size(); ++i) {
    const EmbeddingSpan& span = request.embeddings[i];
    const std::size_t rows = span.rows.size() / width;
    if (rows == 0 || span.rows.size() % width != 0)
      return fail(Errc::invalid_argument, "span ", i, " of embeddings has ", span.rows.size(),
                  " elements, expected rows of ", width);
    if (span.first < end || span.first > request.tokens.size() || rows > request.tokens.size() - span.first)
      return fail(Errc::invalid_argument, "span ", i, " of embeddings has ", rows, " rows from position ", span.first,
                  ", expected positions ", end, "..", request.tokens.size() - 1);
    end = span.first + static_cast<std::uint32_t>(rows);
    serve::GivenRows given{span.first, static_cast<std::uint32_t>(rows), sequence.embeddings.size()};
    if (auto r = take_places(span, i, axes, given, sequence); !r) return r;
    if (auto r = sequence.given.push_back(given); !r) return r;
    if (auto r = sequence.embeddings.append(span.rows); !r) return r;
  }
  return {};
}

/// Begins the answer of a request with a grammar. Errors: Errc::invalid_argument for one of another vocabulary.
[[nodiscard]] inline Result<void> take_grammar(const Request& request, std::uint32_t vocabulary,
                                               const Allocator& allocator, ActiveRequest& a) noexcept {
  if (request.grammar == nullptr) return {};
  const text::grammar::TokenGrammar& g = *request.grammar;
  if (g.grammar == nullptr || g.trie == nullptr)
    return fail(Errc::invalid_argument, "the request's TokenGrammar names no grammar or no trie");
  if (g.trie->vocabulary() != vocabulary || !a.text)
    return fail(Errc::invalid_argument, "the grammar's trie has ", g.trie->vocabulary(), " tokens, expected ",
                vocabulary);
  auto matcher = text::grammar::Matcher::make(*g.grammar, *g.trie, {}, allocator);
  if (!matcher) return pass(matcher);
  a.matcher.emplace(std::move(*matcher));
  return {};
}

/// Checks a request against the engine's limits and copies it, with biases that forbid the tokens `suppressed`; the
/// engine's limit of biases has room for them. Rows of its embeddings are `given_width` wide, 0 for none,
/// and stand on `rope_axes`.
///
/// Errors: Errc::invalid_argument naming the field.
[[nodiscard]] inline Result<Owned<ActiveRequest>> make_active(const Request& request, RequestId id,
                                                              Span<const std::int32_t> prompt, std::uint32_t vocabulary,
                                                              std::uint32_t context, const EngineOptions& options,
                                                              Span<const std::int32_t> suppressed,
                                                              const text::Tokenizer* tokenizer,
                                                              std::size_t longest_token, std::uint32_t given_width,
                                                              std::uint32_t rope_axes) noexcept {
  const Sampling& s = request.sampling;
  if (tokenizer == nullptr && !request.stop_strings.empty())
    return fail(Errc::unsupported_tokenizer, "stop strings need a vocabulary, and the model has none");
  if (prompt.empty()) return fail(Errc::invalid_argument, "the prompt has no tokens");
  if (prompt.size() > context)
    return fail(Errc::capacity_exceeded, "the prompt has ", prompt.size(), " tokens, the context holds ", context);
  for (std::size_t i = 0; i < prompt.size(); ++i)
    if (prompt[i] < 0 || static_cast<std::uint32_t>(prompt[i]) >= vocabulary)
      return fail(Errc::invalid_argument, "prompt token ", i, " is ", prompt[i], ", expected 0..", vocabulary - 1);
  for (const std::int32_t stop : request.stop_tokens)
    if (stop != kNoToken && (stop < 0 || static_cast<std::uint32_t>(stop) >= vocabulary))
      return fail(Errc::invalid_argument, "a stop token is ", stop, ", expected 0..", vocabulary - 1);
  if (auto r = check(s); !r) return pass(r);
  const bool penalises = s.repetition_penalty != 1.0f || s.frequency_penalty != 0.0f || s.presence_penalty != 0.0f;
  if (penalises && s.penalty_window > options.penalty_window)
    return fail(Errc::invalid_argument, "penalty_window is ", s.penalty_window, ", the engine was opened for at most ",
                options.penalty_window);
  if (const std::size_t most = options.bias_entries - suppressed.size(); s.bias.size() > most)
    return fail(Errc::invalid_argument, s.bias.size(), " logit biases, the engine was opened for at most ", most);
  for (const TokenBias& bias : s.bias) {
    if (bias.token < 0 || static_cast<std::uint32_t>(bias.token) >= vocabulary)
      return fail(Errc::invalid_argument, "a logit bias names token ", bias.token, ", expected 0..", vocabulary - 1);
    if (!__builtin_isfinite(bias.bias) && !(bias.bias < 0.0f))
      return fail(Errc::invalid_argument, "the logit bias of token ", bias.token, " is ",
                  bias.bias > 0.0f ? "infinity" : "NaN", ", expected a finite number, or -infinity for never");
  }
  for (const std::uint32_t most : {request.log_probabilities, request.prompt_log_probabilities})
    if (most > vocabulary)
      return fail(Errc::invalid_argument, most, " log-probabilities, the vocabulary has ", vocabulary);
  if (request.prompt_log_probabilities != 0 && !request.embeddings.empty())
    return fail(Errc::invalid_argument, "prompt_log_probabilities is ", request.prompt_log_probabilities,
                " of a prompt with embeddings, which have no probability; expected 0");
  const std::uint64_t latency = request.step_latency_ns != 0 ? request.step_latency_ns : options.step_latency_ns;
  if (latency != 0 && options.clock.now == nullptr)
    return fail(Errc::invalid_argument, "step_latency_ns is ", latency, ", which needs a clock; the engine has none");
  auto made = Owned<ActiveRequest>::make(options.allocator, id, options.allocator);
  if (!made) return made;
  ActiveRequest& a = **made;
  const std::size_t longest =
      prompt.size() + request.max_tokens < context ? prompt.size() + request.max_tokens : context;
  if (auto r = a.sequence.tokens.reserve(longest + 1); !r) return pass(r);
  for (std::int32_t token : prompt)
    if (auto r = a.sequence.tokens.push_back(static_cast<std::uint32_t>(token)); !r) return pass(r);
  if (auto r = take_embeddings(request, given_width, rope_axes, a.sequence); !r) return pass(r);
  a.sequence.step_latency_ns = latency;
  a.sequence.prompt_tokens = static_cast<std::uint32_t>(prompt.size());
  if (auto r = a.sequence.biases.append(s.bias); !r) return pass(r);
  for (const std::int32_t token : suppressed)
    if (auto r = a.sequence.biases.push_back({token, -__builtin_inff()}); !r) return pass(r);
  a.sequence.sampling.active = 1;
  a.sequence.sampling.seed_low = static_cast<std::uint32_t>(s.seed);
  a.sequence.sampling.seed_high = static_cast<std::uint32_t>(s.seed >> 32);
  a.sequence.sampling.temperature = s.temperature;
  a.sequence.sampling.top_k = s.top_k;
  a.sequence.sampling.top_p = s.top_p;
  a.sequence.sampling.min_p = s.min_p;
  a.sequence.sampling.repetition_penalty = s.repetition_penalty;
  a.sequence.sampling.frequency_penalty = s.frequency_penalty;
  a.sequence.sampling.presence_penalty = s.presence_penalty;
  a.sequence.sampling.history = penalises ? s.penalty_window : 0;
  // A token's bytes after a held back character, each of which may become three.
  const std::size_t longest_text = 3 * (longest_token + 4);
  std::size_t longest_sure = longest_text;
  // A text that must match is whole only at its own end.
  const StringList stops = request.grammar == nullptr ? request.stop_strings : StringList{};
  if (auto r = a.stops.set(stops, longest_text); !r) return pass(r);
  for (const String& stop : a.stops.strings())
    longest_sure = longest_text + stop.size() > longest_sure ? longest_text + stop.size() : longest_sure;
  if (auto r = a.drawn.reserve(std::size_t{1} + options.draft_tokens, longest_sure); !r) return pass(r);
  if (auto r = a.best.resize(request.log_probabilities); !r) return pass(r);
  if (auto r = a.prompt_best.resize(request.prompt_log_probabilities); !r) return pass(r);
  if (!a.prompt_best.empty()) a.sequence.scored = a.sequence.prompt_tokens - 1;
  if (tokenizer != nullptr) {
    a.text.emplace(*tokenizer);
    if (auto r = a.text->reserve(longest_token); !r) return pass(r);
  }
  if (auto r = take_grammar(request, vocabulary, options.allocator, a); !r) return pass(r);
  a.sequence.sampling.reads_logits = !a.best.empty() || a.matcher ? 1 : 0;
  a.stop_tokens = request.stop_tokens;
  a.max_tokens = request.max_tokens;
  a.tenant = request.tenant;
  a.session = request.session;
  a.adapter = request.adapter;
  a.ignore_eos = request.ignore_eos;
  return made;
}

}  // namespace zrt::inline ZRT_ABI::detail
