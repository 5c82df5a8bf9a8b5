// SPDX-License-Identifier: Apache-2.0
// zrt/trace/recorder.hpp: records a run of an engine, or holds another run to a recording up to the first difference.
#pragma once

#include <zrt/exec/run_observer.hpp>
#include <zrt/trace/recording.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::trace {

/// Takes down a run. Its memory grows while the engine runs; where there is none left, finish() says so.
class RunRecorder {
 public:
  explicit RunRecorder(Allocator allocator = system_allocator()) noexcept
      : out_(allocator), ids_(allocator), refused_(allocator) {}
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  /// Begins; before the engine's first step.
  void begin(const RunHeader& h) noexcept {
    out_.truncate(0);
    for (const char c : detail::kRecordingMagic) out_.number(static_cast<std::uint8_t>(c));
    out_.number(detail::kRecordingVersion);
    out_.fixed64(h.fingerprint);
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(h.kv_type), static_cast<std::uint64_t>(h.act), std::uint64_t{h.slots},
          std::uint64_t{h.context}, std::uint64_t{h.chunk}, std::uint64_t{h.logit_rows},
          std::uint64_t{h.penalty_window}, std::uint64_t{h.bias_entries}})
      out_.number(value);
  }
  /// The bytes of the file. Errors: Errc::out_of_memory; unimplemented for a run with a restored request.
  [[nodiscard]] Result<Vector<std::byte>> finish() noexcept {
    out_.fixed64(checksum(out_.bytes().span()));
    if (const Result<void>& r = out_.state(); !r) return pass(r);
    if (!state_) return pass(state_);
    return std::move(out_.bytes());
  }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

  // --- what the engine tells; see exec::WatchesRuns ----------------------------------------------------

  void taken(const exec::TakenRequest& q) noexcept {
    if (q.restored) state_ = fail(Errc::unimplemented, "a run with a request from a snapshot is not recorded");
    note(ids_.push_back(q.id));
    event(RecordedEvent::Kind::taken);
    list(q.prompt);
    const ops::SampleRequest& s = q.sampling;
    out_.fixed64(std::uint64_t{s.seed_high} << 32 | s.seed_low);
    out_.number(s.top_k);
    out_.number(s.history);
    for (const float value :
         {s.temperature, s.top_p, s.min_p, s.repetition_penalty, s.frequency_penalty, s.presence_penalty})
      out_.real(value);
    out_.number(q.bias.size());
    for (const ops::TokenBias& bias : q.bias) {
      out_.number(static_cast<std::uint32_t>(bias.token));
      out_.real(bias.bias);
    }
    std::size_t stops = 0;
    for (const std::int32_t stop : q.stop_tokens) stops += stop >= 0 ? 1u : 0u;
    out_.number(stops);
    for (const std::int32_t stop : q.stop_tokens)
      if (stop >= 0) out_.number(static_cast<std::uint32_t>(stop));
    out_.number(q.stop_strings.size());
    for (const String& stop : q.stop_strings) out_.text(stop.view());
    out_.number(q.max_tokens);
    out_.number(q.log_probabilities);
    out_.number(q.ignore_eos ? 1 : 0);
    out_.number(q.step_latency_ns);
  }
  void ended(std::uint64_t id, exec::EndedBy cause) noexcept {
    std::size_t number = 0;
    while (number < ids_.size() && ids_[number] != id) ++number;
    if (cause == exec::EndedBy::callable) return note(refused_.push_back(static_cast<std::uint32_t>(number)));
    event(RecordedEvent::Kind::cancelled);
    out_.number(number);
  }
  void planned(const exec::Batch& batch) noexcept {
    before_step_ = out_.size();
    refused_.clear();
    event(RecordedEvent::Kind::step);
    out_.number(batch.prefill ? 1 : 0);
    std::size_t parts = 0;
    for (std::size_t t = 0; t < batch.tokens.size(); t = end_of_part(batch, t)) ++parts;
    out_.number(parts);
    for (std::size_t t = 0; t < batch.tokens.size();) {
      const std::size_t end = end_of_part(batch, t);
      out_.number(batch.slots[t]);
      out_.number(batch.positions[t]);
      list(batch.tokens.subspan(t, end - t));
      t = end;
    }
    rows_ = batch.rows;
    sampled_.clear();
  }
  void sampled(std::uint32_t row, std::int32_t token, Span<const float> logits) noexcept {
    note(sampled_.push_back({rows_[row], token, checksum(as_bytes(logits))}));
  }
  void stepped(bool completed) noexcept {
    if (!completed) return out_.truncate(before_step_);
    out_.number(sampled_.size());
    for (const RecordedRow& row : sampled_) {
      out_.number(row.row);
      out_.number(static_cast<std::uint32_t>(row.token));
      out_.fixed64(row.logits);
    }
    list(refused_.span());
    ++steps_;
  }

  /// The first row behind those that follow row `t` in its slot.
  [[nodiscard]] static std::size_t end_of_part(const exec::Batch& batch, std::size_t t) noexcept {
    std::size_t end = t + 1;
    while (end < batch.tokens.size() && batch.slots[end] == batch.slots[t] &&
           batch.positions[end] == batch.positions[end - 1] + 1)
      ++end;
    return end;
  }

 private:
  void event(RecordedEvent::Kind kind) noexcept { out_.number(static_cast<std::uint64_t>(kind)); }
  void list(Span<const std::uint32_t> numbers) noexcept {
    out_.number(numbers.size());
    for (const std::uint32_t number : numbers) out_.number(number);
  }
  void note(const Result<void>& done) noexcept {
    if (state_ && !done) state_ = done;
  }

  detail::RecordingOut out_;
  Vector<std::uint64_t> ids_;  ///< of the requests, in the order of their numbers
  Vector<std::uint32_t> refused_;
  Vector<RecordedRow> sampled_{ids_.allocator()};
  Span<const std::uint32_t> rows_{};  ///< of the batch that runs
  std::size_t before_step_ = 0;
  std::uint64_t steps_ = 0;
  Result<void> state_{};
};

/// Holds a run to a recording, which outlives it. Whoever drives the engine submits and cancels what next_input() tells,
/// steps, and ends at the first difference().
class Replay {
 public:
  /// Errors: Errc::out_of_memory.
  [[nodiscard]] static Result<Replay> make(const RunRecording& recording, const Allocator& allocator) noexcept {
    Replay replay(recording, allocator);
    if (auto r = replay.cuts_.resize(recording.header.slots); !r) return pass(r);
    if (auto r = replay.ids_.reserve(recording.requests.size()); !r) return pass(r);
    return replay;
  }

  [[nodiscard]] const RunRecording& recording() const noexcept { return *recording_; }
  /// The next request that was taken or cancelled before the next step; null when there is none more.
  [[nodiscard]] const RecordedEvent* next_input() noexcept {
    if (at_ == recording_->events.size() || recording_->events[at_].kind == RecordedEvent::Kind::step) return nullptr;
    return &recording_->events[at_++];
  }
  /// Whether there is another step to run.
  [[nodiscard]] bool more() const noexcept { return step_ < recording_->steps.size(); }
  /// Tells the id that the next request of the recording has in this run; reserved.
  void submitted(std::uint64_t id) noexcept { (void)ids_.push_back(id); }
  [[nodiscard]] std::uint64_t id_of(std::uint32_t request) const noexcept { return ids_[request]; }
  [[nodiscard]] std::size_t submitted() const noexcept { return ids_.size(); }
  /// What the callable of a request is to say to a token of the step that runs.
  [[nodiscard]] bool accepts(std::uint64_t id) const noexcept {
    const RecordedStep* step = current();
    if (step == nullptr) return true;
    for (const std::uint32_t request : recording_->tokens_of(step->refused))
      if (request < ids_.size() && ids_[request] == id) return false;
    return true;
  }
  /// Steps that were as recorded.
  [[nodiscard]] std::size_t steps() const noexcept { return step_; }
  /// Says what differs and where: step, slot, row.
  [[nodiscard]] const std::optional<Error>& difference() const noexcept { return difference_; }

  /// Ends the step that the engine was to run: says so if it ran none.
  void expect_stepped(std::size_t before) noexcept {
    if (step_ == before && !difference_) differs("the engine ran no step, one was recorded");
  }

  // --- what the engine asks and tells; see exec::WatchesRuns and DictatesCuts ---------------------------

  /// Prompt tokens by slot, of the step to come.
  [[nodiscard]] Span<const std::uint32_t> cuts() noexcept {
    const RecordedStep* step = current();
    if (step == nullptr) return {};
    for (std::uint32_t& cut : cuts_) cut = 0;
    for (std::uint32_t i = 0; i < step->parts.count; ++i) {
      const RecordedPart& part = recording_->parts[step->parts.first + i];
      cuts_[part.slot] = part.tokens.count;
    }
    return cuts_.span();
  }
  void planned(const exec::Batch& batch) noexcept {
    row_ = 0;
    if (difference_) return;
    const RecordedStep* step = current();
    if (step == nullptr) return differs("the engine runs a step more than was recorded");
    if (batch.prefill != step->prefill)
      return differs(batch.prefill ? "is a prefill step, a decode step was recorded"
                                   : "is a decode step, a prefill step was recorded");
    rows_ = batch.rows;
    slots_ = batch.slots;
    std::size_t t = 0;
    for (std::uint32_t i = 0; i < step->parts.count && !difference_; ++i)
      t = compare(recording_->parts[step->parts.first + i], batch, t);
    if (!difference_ && t != batch.tokens.size())
      differs_at(batch.slots[t], t, "the batch has ", batch.tokens.size(), " rows, ", t, " were recorded");
  }
  void sampled(std::uint32_t row, std::int32_t token, Span<const float> logits) noexcept {
    const RecordedStep* step = current();
    if (difference_ || step == nullptr) return;
    const std::uint32_t of_batch = rows_[row];
    const std::uint32_t slot = slots_[of_batch];
    if (row_ == step->rows.count) return differs_at(slot, of_batch, "token ", token, " was sampled, none was recorded");
    const RecordedRow& expected = recording_->rows[step->rows.first + row_++];
    if (of_batch != expected.row)
      return differs_at(slot, of_batch, "this row reached the head, row ", expected.row, " was recorded");
    if (token != expected.token)
      return differs_at(slot, of_batch, "token ", token, " was sampled, ", expected.token, " was recorded");
    if (checksum(as_bytes(logits)) != expected.logits)
      differs_at(slot, of_batch, "the logits have other bits than recorded; token ", token,
                 " was sampled all the same");
  }
  void stepped(bool completed) noexcept {
    const RecordedStep* step = current();
    if (difference_ || step == nullptr) return;
    if (!completed) return differs("the step failed or was stopped; it was recorded as complete");
    if (row_ != step->rows.count) return differs("fewer rows have a token than were recorded");
    ++step_;
    ++at_;
  }

 private:
  Replay(const RunRecording& recording, const Allocator& a) noexcept : recording_(&recording), cuts_(a), ids_(a) {}

  [[nodiscard]] const RecordedStep* current() const noexcept {
    if (at_ == recording_->events.size() || recording_->events[at_].kind != RecordedEvent::Kind::step) return nullptr;
    return &recording_->steps[recording_->events[at_].index];
  }
  /// Compares the rows from `t` on with a recorded part; gives the row behind it.
  [[nodiscard]] std::size_t compare(const RecordedPart& part, const exec::Batch& batch, std::size_t t) noexcept {
    const Span<const std::uint32_t> tokens = recording_->tokens_of(part.tokens);
    for (std::uint32_t i = 0; i < tokens.size(); ++i, ++t) {
      const std::uint64_t position = std::uint64_t{part.position} + i;
      if (t >= batch.tokens.size()) {
        differs_at(part.slot, t, "the batch ends before this row, which was recorded");
      } else if (batch.slots[t] != part.slot || batch.positions[t] != position) {
        differs_at(batch.slots[t], t, "position ", batch.positions[t], ", slot ", part.slot, " and position ", position,
                   " were recorded");
      } else if (batch.tokens[t] != tokens[i]) {
        differs_at(part.slot, t, "token ", batch.tokens[t], " is fed, ", tokens[i], " was recorded");
      }
      if (difference_) return t;
    }
    return t;
  }
  void differs(std::string_view what) noexcept {
    difference_ = Error::of(Errc::spec_violation, "step ", step_, ": ", what);
  }
  template <class... Pieces> void differs_at(std::uint32_t slot, std::size_t row, Pieces... pieces) noexcept {
    difference_ = Error::of(Errc::spec_violation, "step ", step_, ", slot ", slot, ", row ", row, ": ", pieces...);
  }

  const RunRecording* recording_;
  Vector<std::uint32_t> cuts_;
  Vector<std::uint64_t> ids_;
  std::size_t at_ = 0;     ///< the next event
  std::size_t step_ = 0;   ///< the next step
  std::uint32_t row_ = 0;  ///< the next row of the step
  Span<const std::uint32_t> rows_{};
  Span<const std::uint32_t> slots_{};
  std::optional<Error> difference_{};
};

/// Binds a recorder or a replay, which outlives the engine: `Engine<B, AllFamilies, trace::RunObserver>::open(path,
/// options, device, {&recorder})`, or `{nullptr, &replay}`.
struct RunObserver {
  RunRecorder* recorder = nullptr;
  Replay* replay = nullptr;

  [[nodiscard]] Result<void> bind(const exec::ObservedProgram&) noexcept {
    if ((recorder == nullptr) == (replay == nullptr))
      return fail(Errc::invalid_argument, "the observer needs a recorder or a replay");
    return {};
  }
  void begin_step(const ExecutionContext&) const noexcept {}
  void end_step(bool) const noexcept {}
  void taken(const exec::TakenRequest& request) const noexcept {
    if (recorder != nullptr) recorder->taken(request);
  }
  void ended(std::uint64_t id, exec::EndedBy cause) const noexcept {
    if (recorder != nullptr) recorder->ended(id, cause);
  }
  void planned(const exec::Batch& batch) const noexcept {
    if (recorder != nullptr) recorder->planned(batch);
    if (replay != nullptr) replay->planned(batch);
  }
  void sampled(std::uint32_t row, std::int32_t token, Span<const float> logits) const noexcept {
    if (recorder != nullptr) recorder->sampled(row, token, logits);
    if (replay != nullptr) replay->sampled(row, token, logits);
  }
  void stepped(bool completed) const noexcept {
    if (recorder != nullptr) recorder->stepped(completed);
    if (replay != nullptr) replay->stepped(completed);
  }
  [[nodiscard]] Span<const std::uint32_t> cuts() const noexcept {
    return replay != nullptr ? replay->cuts() : Span<const std::uint32_t>();
  }
};
static_assert(exec::WatchesRuns<RunObserver> && exec::DictatesCuts<RunObserver>);

}  // namespace zrt::inline ZRT_ABI::trace
