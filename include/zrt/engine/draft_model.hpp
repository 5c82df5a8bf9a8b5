// SPDX-License-Identifier: Apache-2.0
// zrt/engine/draft_model.hpp: a second, smaller model that guesses the tokens of the first.
#pragma once

#include <zrt/engine/serving.hpp>
#include <zrt/exec/slot_faults.hpp>
#include <zrt/serve/batch_planner.hpp>
#include <zrt/serve/draft_pay.hpp>
#include <zrt/serve/step_pace.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Reads the texts of another engine's slots in slots of `model`, an OpenModel, and draws what it thinks comes next, with
/// the other's samplers and random numbers. It is no part of any answer: what it cannot do, it leaves out.
template <class B, class Model> class DraftModel {
 public:
  DraftModel(Model& model, Serving<B>& serving, serve::BatchPlanner& planner, const Allocator& allocator) noexcept
      : model_(model),
        serving_(serving),
        planner_(planner),
        texts_(allocator),
        sequences_(allocator),
        cuts_(allocator),
        faults_(allocator) {}

  /// Makes room for the texts of `slots` slots of `context` positions, which are all it guesses for, with so many biases.
  [[nodiscard]] Result<void> reserve(std::uint32_t slots, std::uint32_t context, std::uint32_t biases,
                                     const Allocator& allocator) noexcept {
    context_ = context;
    if (auto r = texts_.reserve(slots); !r) return r;
    for (std::uint32_t i = 0; i < slots; ++i) {
      Text text(allocator);
      if (auto r = text.sequence.tokens.reserve(std::size_t{context} + 1); !r) return r;
      if (auto r = text.sequence.biases.reserve(biases); !r) return r;
      (void)texts_.push_back(std::move(text));
    }
    if (auto r = sequences_.resize(slots); !r) return r;
    if (auto r = cuts_.resize(slots); !r) return r;
    auto faults = exec::SlotFaults::make(model_.sizes().slots, allocator);
    if (!faults) return pass(faults);
    faults_ = std::move(*faults);
    return {};
  }

  /// Forgets the texts of all slots, whose memory goes.
  void forget() noexcept {
    for (Text& text : texts_) drop(text);
    fails_ = false;
  }
  /// A step begins in which a slot has the request that the scheduler calls `handle`, 0 for none.
  void begin(std::uint32_t slot, serve::Handle handle) noexcept {
    Text& text = texts_[slot];
    text.wanted = text.made = 0;
    if (text.request != handle) drop(text);
  }
  /// How many of `most` guesses behind a request's text it can make.
  [[nodiscard]] std::uint32_t room(std::uint32_t slot, const ActiveRequest& a, std::uint32_t most) noexcept {
    Text& text = texts_[slot];
    const auto tokens = static_cast<std::uint32_t>(a.sequence.tokens.size());
    if (most == 0 || tokens > context_ || fails_) return 0;
    if (text.slot == serve::kNone && !take_slot(text, a)) return 0;
    align(text, a.sequence.tokens.span());
    // The last guess is in no position.
    const std::uint32_t left = context_ + 1 - tokens;
    const std::uint32_t count = left < most ? left : most;
    return serving_.reserve(text.slot, tokens + count - 1) ? count : 0;
  }
  /// Asks for `count` guesses, no more than there is room for.
  void want(std::uint32_t slot, std::uint32_t count) noexcept { texts_[slot].wanted = count; }
  /// Makes the guesses that were asked for, and tells `times` what each took. A text that is long unread is read in
  /// chunks, a chunk a step, before there are any; `latency`, if not 0, bounds what a step reads.
  void guess(const ClockHook& clock, const exec::StopPoll& stop, std::uint64_t latency,
             serve::DraftTimes& times) noexcept {
    std::uint32_t room = reading_room(latency);
    for (std::uint32_t read = 0; choose(room, read); read = 0) {
      const std::uint64_t began = clock();
      const auto completed = run(stop);
      if (!completed || !*completed) {
        forget();
        // A device that fails would take time of every step: it guesses no more until its memory is new.
        fails_ = !completed;
        return;
      }
      const std::uint64_t took = clock() - began;
      // The first of a text reads it besides.
      if (read <= 2 * texts_.size())
        times.learn_guess(took);
      else
        pace_.learn(0, read, took);
    }
  }
  /// What was guessed for a slot, valid until the next step.
  [[nodiscard]] serve::Draft draft(std::uint32_t slot) const noexcept {
    const Text& text = texts_[slot];
    return {text.sequence.tokens.data() + text.known, text.made};
  }

 private:
  /// A slot of the other engine, as this one has read it.
  struct Text {
    explicit Text(const Allocator& a) noexcept : sequence(a) {}

    serve::Handle request = 0;
    std::uint32_t slot = serve::kNone;  ///< of this engine
    serve::Sequence sequence;           ///< the request's tokens, then guesses
    std::uint32_t known = 0;            ///< of these, the request's
    std::uint32_t wanted = 0;           ///< guesses of the step
    std::uint32_t made = 0;
  };

  void drop(Text& text) noexcept {
    if (text.slot != serve::kNone && model_.is_bound()) (void)serving_.release(text.slot);
    text.slot = serve::kNone;
    text.request = 0;
    text.wanted = text.made = 0;
  }
  [[nodiscard]] bool take_slot(Text& text, const ActiveRequest& a) noexcept {
    const auto slot = serving_.acquire();
    if (!slot || *slot == serve::kNone) return false;
    text.slot = *slot;
    text.request = a.handle;
    text.known = 0;
    serve::Sequence& s = text.sequence;
    s.slot = *slot;
    s.tokens.clear();
    s.biases.clear();
    (void)s.biases.append(a.sequence.biases.span());
    s.prompt_tokens = a.sequence.prompt_tokens;
    s.processed = 0;
    s.sampling = a.sequence.sampling;
    return true;
  }
  /// Takes the text back to where it is the request's, and forth to its end.
  static void align(Text& text, Span<const std::uint32_t> tokens) noexcept {
    serve::Sequence& s = text.sequence;
    std::size_t same = text.known;
    while (same < tokens.size() && same < s.tokens.size() && s.tokens[same] == tokens[same]) ++same;
    while (s.tokens.size() > same) s.tokens.pop_back();
    (void)s.tokens.append(tokens.subspan(same));
    text.known = static_cast<std::uint32_t>(tokens.size());
    const auto most = static_cast<std::uint32_t>(same < tokens.size() ? same : tokens.size() - 1);
    if (s.processed > most) s.processed = most;
  }

  /// Tokens of unread texts that one step may read.
  [[nodiscard]] std::uint32_t reading_room(std::uint64_t latency) noexcept {
    const std::uint32_t most = model_.sizes().prefill_tokens - model_.sizes().slots;
    std::uint32_t furthest = 0, unread = 0;
    for (const Text& text : texts_) {
      if (text.wanted == 0) continue;
      unread += text.sequence.prompt_left();
      if (text.sequence.processed > furthest) furthest = text.sequence.processed;
    }
    if (unread == 0) return 0;
    const std::uint32_t timely = model_.executor().timely_tokens(most, furthest + most);
    const std::uint32_t room = pace_.within(latency, 0, timely);
    // A text that is read has a token or two of the last step.
    const std::uint32_t least = kPageTokens + 2 * static_cast<std::uint32_t>(texts_.size());
    return room < least ? least < timely ? least : timely : room;
  }
  /// Chooses who reads in this round, of unread texts at most `room` tokens, which it takes; counts the tokens of the
  /// round. False where nobody does.
  [[nodiscard]] bool choose(std::uint32_t& room, std::uint32_t& read) noexcept {
    bool any = false;
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      Text& text = texts_[i];
      sequences_[i] = nullptr;
      cuts_[i] = 0;
      if (text.made >= text.wanted) continue;
      const std::uint32_t left = text.sequence.prompt_left();
      cuts_[i] = left < room ? left : room;
      if (left != 0 && cuts_[i] == 0) continue;
      room -= cuts_[i];
      read += cuts_[i] + (left == 0 ? 1 : 0);
      sequences_[i] = &text.sequence;
      any = true;
    }
    return any;
  }
  /// False where `stop` ended it halfway.
  [[nodiscard]] Result<bool> run(const exec::StopPoll& stop) noexcept {
    const exec::Batch batch = planner_.plan(sequences_.span(), serving_.pages(), cuts_.span());
    if (auto r = serving_.advance(batch); !r) return pass(r);
    auto completed = model_.executor().step(batch, stop, &faults_);
    if (!completed || !*completed) return completed;
    const auto origins = planner_.origins();
    for (std::size_t i = 0; i < texts_.size(); ++i)
      if (sequences_[i] != nullptr && sequences_[i]->prompt_left() != 0) texts_[i].wanted = 0;
    for (std::size_t row = 0; row < origins.size(); ++row) {
      Text& text = texts_[origins[row].sequence];
      std::int32_t id = kNoToken;
      if (auto r = model_.executor().read(exec::port::kToken, row * sizeof id, as_writable_bytes(Span(&id, 1))); !r)
        return pass(r);
      if (id < 0 || !faults_.of(text.slot, model_.plan().plan, &model_.op_rows())) {
        text.wanted = text.made;
        continue;
      }
      (void)text.sequence.tokens.push_back(static_cast<std::uint32_t>(id));
      ++text.made;
    }
    return true;
  }

  Model& model_;
  Serving<B>& serving_;
  serve::BatchPlanner& planner_;
  Vector<Text> texts_;  ///< by slot of the other engine
  Vector<serve::Sequence*> sequences_;
  Vector<std::uint32_t> cuts_;
  exec::SlotFaults faults_;
  serve::StepPace pace_{};
  std::uint32_t context_ = 0;  ///< of the other engine
  bool fails_ = false;
};

}  // namespace zrt::inline ZRT_ABI::detail
