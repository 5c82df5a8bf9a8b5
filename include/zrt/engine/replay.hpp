// SPDX-License-Identifier: Apache-2.0
// zrt/engine/replay.hpp: runs a recorded run again: the same requests, cuts and answers, up to the first difference.
#pragma once

#include <zrt/engine/options.hpp>
#include <zrt/engine/request.hpp>
#include <zrt/trace/recorder.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

/// What a recording of `engine` begins with. Errors: those of Engine::fingerprint.
template <class E> [[nodiscard]] Result<trace::RunHeader> run_header(const E& engine) noexcept {
  const auto fingerprint = engine.fingerprint();
  if (!fingerprint) return pass(fingerprint);
  const EngineOptions& o = engine.options();
  return trace::RunHeader{.fingerprint = *fingerprint,
                          .kv_type = o.kv_type,
                          .act = o.numerics.act,
                          .slots = o.slots,
                          .context = engine.context(),
                          .chunk = o.chunk,
                          .logit_rows = o.logit_rows,
                          .penalty_window = o.penalty_window,
                          .bias_entries = o.bias_entries};
}

/// The options of an engine that runs a recording; the rest, threads among them, is the host's choice.
[[nodiscard]] inline EngineOptions options_of(const trace::RunHeader& header) noexcept {
  EngineOptions o;
  o.kv_type = header.kv_type;
  o.numerics.act = header.act;
  o.slots = header.slots;
  o.context = header.context;
  o.chunk = header.chunk;
  o.logit_rows = header.logit_rows;
  o.penalty_window = header.penalty_window;
  o.bias_entries = header.bias_entries;
  return o;
}

/// Refuses a recording of another model. Errors: Errc::invalid_argument.
[[nodiscard]] inline Result<void> check_model(const trace::RunHeader& recorded, const trace::RunHeader& own) noexcept {
  if (recorded.fingerprint == own.fingerprint) return {};
  return fail(Errc::invalid_argument, "the recording is of the model with fingerprint ", recorded.fingerprint,
              ", this one has ", own.fingerprint);
}

namespace detail {

/// Submits a recorded request to `engine`.
template <class E>
[[nodiscard]] Result<RequestId> submit_recorded(E& engine, const trace::RunRecording& recording,
                                                const trace::RecordedRequest& recorded,
                                                const Allocator& allocator) noexcept {
  Vector<std::int32_t> prompt(allocator);
  for (const std::uint32_t token : recording.tokens_of(recorded.prompt))
    if (auto r = prompt.push_back(static_cast<std::int32_t>(token)); !r) return pass(r);
  Vector<std::string_view> stops(allocator);
  for (std::uint32_t i = 0; i < recorded.stop_strings.count; ++i)
    if (auto r = stops.push_back(recording.text(recorded.stop_strings.first + i)); !r) return pass(r);
  Request request;
  request.tokens = prompt.span();
  request.stop_strings = stops.span();
  request.max_tokens = recorded.max_tokens;
  request.ignore_eos = recorded.ignore_eos;
  request.log_probabilities = recorded.log_probabilities;
  request.step_latency_ns = recorded.step_latency_ns;
  const ops::SampleRequest& s = recorded.sampling;
  request.sampling = {.temperature = s.temperature,
                      .top_k = s.top_k,
                      .top_p = s.top_p,
                      .min_p = s.min_p,
                      .repetition_penalty = s.repetition_penalty,
                      .frequency_penalty = s.frequency_penalty,
                      .presence_penalty = s.presence_penalty,
                      .penalty_window = s.history,
                      .seed = std::uint64_t{s.seed_high} << 32 | s.seed_low,
                      .bias = recording.biases.span().subspan(recorded.biases.first, recorded.biases.count)};
  const auto ids = recording.tokens_of(recorded.stop_tokens);
  if (ids.size() > request.stop_tokens.size())
    return fail(Errc::invalid_file, "a recorded request has ", ids.size(), " stop tokens, at most ",
                request.stop_tokens.size(), " expected");
  for (std::size_t i = 0; i < ids.size(); ++i) request.stop_tokens[i] = static_cast<std::int32_t>(ids[i]);
  return engine.submit(request);
}

}  // namespace detail

/// Runs all of a recording on an engine that `replay` watches (trace::RunObserver) and that has run nothing yet.
///
/// Errors: what differs first, as Errc::spec_violation with step, slot and row; those of Engine::submit and step.
template <class E>
[[nodiscard]] Result<void> run_replay(E& engine, trace::Replay& replay, const Allocator& allocator) noexcept {
  const auto accept = [&replay](RequestId id, const Token&) { return replay.accepts(static_cast<std::uint64_t>(id)); };
  const auto give_inputs = [&]() -> Result<void> {
    while (const trace::RecordedEvent* event = replay.next_input()) {
      if (event->kind == trace::RecordedEvent::Kind::cancelled) {
        engine.cancel(RequestId{replay.id_of(event->index)});
        continue;
      }
      const trace::RecordedRequest& recorded = replay.recording().requests[event->index];
      const auto id = detail::submit_recorded(engine, replay.recording(), recorded, allocator);
      if (!id) return pass(id);
      replay.submitted(static_cast<std::uint64_t>(*id));
    }
    return {};
  };
  while (replay.more()) {
    if (auto r = give_inputs(); !r) return r;
    const std::size_t before = replay.steps();
    const auto left = engine.step(accept);
    if (!replay.difference() && left) replay.expect_stepped(before);
    if (replay.difference()) return std::unexpected<Error>(*replay.difference());
    if (!left) return pass(left);
  }
  return {};
}

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
