// SPDX-License-Identifier: Apache-2.0
// zrt/engine/request_news.hpp: what the scheduler says, handed to the requests: tokens, refusals and ends.
#pragma once

#include <zrt/engine/callables.hpp>
#include <zrt/engine/delivery.hpp>
#include <zrt/engine/mailbox.hpp>
#include <zrt/engine/request_watch.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Finds requests by their id, tells them what the scheduler decided, and ends them.
template <class B, class O, class Model> class RequestNews {
 public:
  RequestNews(Mailbox& mailbox, Serving<B>& serving, RequestWatch<B, O, Model>& watch) noexcept
      : mailbox_(mailbox), serving_(serving), watch_(watch) {}

  /// A step begins, whose events are new.
  void begin_step() noexcept { seen_ = 0; }
  /// Hands its news to the requests.
  void tell(const OnToken& on_token) noexcept {
    std::size_t arrived = 0;
    for (; seen_ < serving_.scheduler().events().size(); ++seen_) {
      const serve::StepEvent event = serving_.scheduler().events()[seen_];
      if (event.tag != 0 && event.kind == serve::EventKind::accepted) {
        serving_.take(event.subject, std::move(serving_.arriving()[arrived++]));
      } else if (event.tag != 0 && event.kind == serve::EventKind::refused) {
        Owned<ActiveRequest> refused = std::move(serving_.arriving()[arrived++]);
        refused->finish = FinishReason::failed;
        refused->error = refusal(event);
        refused->retry_after_ns = event.retry_after;
        end(std::move(refused), on_token);
      } else if (event.kind == serve::EventKind::admitted && serving_.request(event.subject)) {
        ActiveRequest& a = *serving_.request(event.subject);
        if (!a.began) a.cached_tokens = event.value;
        a.began = true;
      } else if (event.kind == serve::EventKind::preempted) {
        watch_.show(*serving_.request(event.subject), exec::RequestPhase::queued);
      } else if (event.kind == serve::EventKind::token) {
        ActiveRequest& a = *serving_.request(event.subject);
        if (a.finish == FinishReason::callback) continue;
        Token next = a.drawn.take();
        next.cached_tokens = a.cached_tokens;
        if (!on_token(a.id, next)) hush(a);
      } else if (event.kind == serve::EventKind::ended && serving_.request(event.subject)) {
        Owned<ActiveRequest> ended = serving_.end(event.subject);
        if (event.end == serve::EndReason::client_too_slow)
          ended->finish = FinishReason::client_too_slow;
        else if (ended->finish == FinishReason::none || lost_its_end(*ended, event.end))
          name_end(*ended, event.end);
        end(std::move(ended), on_token);
      }
    }
    if (arrived == 0) return;
    ZRT_ASSERT(arrived == serving_.arriving().size());
    serving_.drop_arrived(0);
  }
  /// Whether a request ended between steps: its row is free for another, and the next step has yet to tell of it.
  [[nodiscard]] bool has_untold_end() noexcept {
    const Span<const serve::StepEvent> events = serving_.scheduler().events();
    for (std::size_t i = seen_; i < events.size(); ++i)
      if (events[i].kind == serve::EventKind::ended && serving_.request(events[i].subject)) return true;
    return false;
  }
  /// Ends a request that is in nobody's tables any more.
  void end(Owned<ActiveRequest> ended, const OnToken& on_token) noexcept {
    mailbox_.drop(*ended);
    const FinishReason reason = ended->finish;
    // What was drawn and not taken was never its client's, and no text comes behind a hole.
    const bool whole = ended->drawn.size() == 0;
    ended->generated -= ended->drawn.size();
    if (ended->error) last_error_ = *ended->error;
    watch_.show_ended(ended->id, reason);
    last_completion_ = {reason, ended->sequence.prompt_tokens, ended->generated};
    watch_.show(*ended, exec::RequestPhase::ended, name(reason));
    // A callable that returned false is not called again.
    if (reason == FinishReason::callback || ended->silent) return;
    Token last{.text = whole ? last_text(*ended) : std::string_view{}, .finish = reason};
    if (reason == FinishReason::failed) last.error = &last_error_;
    last.retry_after_ns = ended->retry_after_ns;
    last.cached_tokens = ended->cached_tokens;
    (void)on_token(ended->id, last);
  }

  /// Ends all that the scheduler does not have yet.
  void end_arriving(FinishReason reason, const Error* error, const OnToken& on_token) noexcept {
    const auto end_one = [&](Owned<ActiveRequest> taken) {
      taken->finish = reason;
      if (error != nullptr) taken->error = *error;
      end(std::move(taken), on_token);
    };
    for (Owned<ActiveRequest>& a : serving_.arriving()) end_one(std::move(a));
    serving_.arriving().clear();
    while (!serving_.unread().empty()) end_one(serving_.unread().take_oldest());
  }

  /// Prepares those that the step reads: left are those that the scheduler hears of. `place(request) -> Result<void>`
  /// finds what a request needs; without that it fails.
  ///
  /// Others end that may have no further token: those with max_tokens 0 whose prompt is not told, and restored ones that
  /// already have max_tokens. All others end with their last token. Their tenant answers for them all the same.
  template <class Place> void read(const Place& place, const OnToken& on_token) noexcept {
    Vector<Owned<ActiveRequest>>& all = serving_.arriving();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Owned<ActiveRequest> next = std::move(all[i]);
      if (const Result<void> placed = place(*next); !placed) {
        next->finish = FinishReason::failed;
        next->error = placed.error();
      } else if (next->generated >= next->max_tokens && next->prompt_best.empty()) {
        pass_empty(*next);
      } else {
        all[kept++] = std::move(next);
        continue;
      }
      end(std::move(next), on_token);
    }
    serving_.drop_arrived(kept);
  }
  void cancel_running(const OnToken& on_token) noexcept {
    for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
      if (ActiveRequest* a = serving_.in_slot(slot); a != nullptr) {
        a->finish = FinishReason::cancelled;
        cancel_now(*a);
      }
    tell(on_token);
    // A request that has not begun is the one that is asked for.
    end_arriving(FinishReason::cancelled, nullptr, on_token);
  }

  /// Ends all requests, none of which runs, with an error.
  void fail_waiting(const Error& error, const OnToken& on_token) noexcept {
    for (Owned<ActiveRequest>& a : serving_.requests())
      if (a) {
        a->finish = FinishReason::failed;
        a->error = error;
        cancel_now(*a);
      }
    tell(on_token);
    end_arriving(FinishReason::failed, &error, on_token);
  }

  /// Ends a request wherever it is; it may have ended already.
  void end_cancelled(RequestId id, const OnToken& on_token) noexcept {
    ActiveRequest* a = find(id);
    if (a == nullptr) return;
    a->finish = FinishReason::cancelled;
    if (a->handle == 0) return end(take_arriving(*a), on_token);
    cancel_now(*a);
    tell(on_token);
  }

  /// Notes whether a request's client reads; it may have ended already.
  void pause(const PauseNote& note, const OnToken& on_token) noexcept {
    if (ActiveRequest* a = find(note.request); a != nullptr) serving_.pause(*a, note.on);
    tell(on_token);
  }

  /// A request that has not ended, or null.
  [[nodiscard]] ActiveRequest* find(RequestId id) noexcept { return mailbox_.find(id); }
  /// The request in its slot, or null.
  [[nodiscard]] ActiveRequest* find_running(RequestId id) noexcept {
    for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
      if (ActiveRequest* a = serving_.in_slot(slot); a != nullptr && a->id == id) return a;
    return nullptr;
  }
  void cancel_now(const ActiveRequest& a) noexcept {
    serve::Arrival note;
    note.kind = serve::ArrivalKind::cancel;
    note.subject = a.handle;
    serving_.scheduler().arrive(note);
  }

  /// Of the request that ended last.
  [[nodiscard]] const Completion& last_completion() const noexcept { return last_completion_; }
  /// Of the request that failed last.
  [[nodiscard]] const Error& last_error() const noexcept { return last_error_; }

 private:
  /// Takes out a request that the scheduler does not have yet.
  [[nodiscard]] Owned<ActiveRequest> take_arriving(ActiveRequest& a) noexcept {
    if (a.unread) return serving_.unread().take(a);
    Vector<Owned<ActiveRequest>>& all = serving_.arriving();
    std::size_t at = 0;
    while (all[at].get() != &a) ++at;
    Owned<ActiveRequest> taken = std::move(all[at]);
    for (; at + 1 < all.size(); ++at) all[at] = std::move(all[at + 1]);
    all.pop_back();
    return taken;
  }
  /// Says how a request ends that asks for no further token.
  void pass_empty(ActiveRequest& a) noexcept {
    serve::StepEvent answer;
    answer.refusal = serving_.scheduler().pass_empty(serving_.arrival(a));
    const bool passes = answer.refusal == serve::Refusal::none;
    a.finish = passes ? FinishReason::length : FinishReason::failed;
    if (!passes) a.error = refusal(answer);
  }
  /// Whether an answer that was complete ended before its client had the last token, by something else than that.
  [[nodiscard]] static bool lost_its_end(const ActiveRequest& a, serve::EndReason why) noexcept {
    const bool complete = a.finish == FinishReason::length || a.finish == FinishReason::context ||
                          a.finish == FinishReason::stop_token || a.finish == FinishReason::stop_string;
    return complete && a.drawn.size() != 0 && why != serve::EndReason::length && why != serve::EndReason::stopped;
  }
  /// Says how a request ended that the scheduler ended by itself.
  static void name_end(ActiveRequest& a, serve::EndReason why) noexcept {
    a.finish = FinishReason::cancelled;
    if (why != serve::EndReason::quota_lowered) return;
    a.finish = FinishReason::failed;
    a.error = Error::of(Errc::capacity_exceeded,
                        "its tenant's quota was lowered below the pages or the context that it needs");
  }
  /// The callable has said that it wants no more, so what else the step drew was never its.
  void hush(ActiveRequest& a) noexcept {
    a.finish = FinishReason::callback;
    cancel_now(a);
  }
  [[nodiscard]] static Error refusal(const serve::StepEvent& event) noexcept {
    const bool unknown = event.refusal == serve::Refusal::unknown_subject;
    Error error = Error::of(unknown ? Errc::not_found : Errc::capacity_exceeded, "the request is refused: ");
    error.append(serve::name(event.refusal));
    if (event.retry_after != 0) error.append("; try again after ").append(event.retry_after).append(" ns");
    return error;
  }

  Mailbox& mailbox_;
  Serving<B>& serving_;
  RequestWatch<B, O, Model>& watch_;
  std::size_t seen_ = 0;  ///< events of the scheduler
  Completion last_completion_{};
  Error last_error_{};
};

}  // namespace zrt::inline ZRT_ABI::detail
