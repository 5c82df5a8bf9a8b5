// SPDX-License-Identifier: Apache-2.0
// zrt/engine/request_watch.hpp: what an observer sees of requests.
#pragma once

#include <zrt/engine/serving.hpp>
#include <zrt/exec/run_observer.hpp>

namespace zrt::inline ZRT_ABI::detail {

/// Shows an engine's requests to the observer of its `model`, an OpenModel; nothing without one.
template <class B, class O, class Model> class RequestWatch {
 public:
  RequestWatch(const Model& model, Serving<B>& serving) noexcept : model_(model), serving_(serving) {}

  void show([[maybe_unused]] const ActiveRequest& a, [[maybe_unused]] exec::RequestPhase phase,
            [[maybe_unused]] std::string_view finish = {}) const noexcept {
    if constexpr (exec::WatchesRequests<O>) {
      const serve::Sequence& s = a.sequence;
      const std::uint32_t slot = phase == exec::RequestPhase::queued ? exec::ObservedRequest::kNoSlot : s.slot;
      model_.observer().request({static_cast<std::uint64_t>(a.id), static_cast<std::uint64_t>(a.tenant), phase, slot,
                                 s.prompt_tokens, s.processed, a.generated, finish});
    }
  }
  void show_slots() noexcept {
    if constexpr (exec::WatchesRequests<O>) {
      for (std::uint32_t slot = 0; slot < serving_.slot_count(); ++slot)
        if (const ActiveRequest* a = serving_.in_slot(slot); a != nullptr)
          show(*a, a->sequence.prompt_left() != 0 ? exec::RequestPhase::prefill : exec::RequestPhase::decode);
      const auto running = static_cast<std::uint32_t>(serving_.running());
      const auto waiting = static_cast<std::uint32_t>(serving_.left() - running);
      model_.observer().load({running, waiting, serving_.slot_count(), serving_.used_pages(),
                              serving_.slots().all_pages(), serving_.drafted()});
    }
  }

  void show_taken([[maybe_unused]] const ActiveRequest& a) const noexcept {
    if constexpr (exec::WatchesRuns<O>) {
      const serve::Sequence& s = a.sequence;
      exec::TakenRequest taken{.id = static_cast<std::uint64_t>(a.id),
                               .prompt = s.tokens.span().first(s.prompt_tokens),
                               .sampling = s.sampling,
                               .bias = s.biases.span().first(s.biases.size() - model_.suppressed().size()),
                               .stop_tokens = a.stop_tokens,
                               .stop_strings = a.stops.strings()};
      taken.max_tokens = a.max_tokens;
      taken.log_probabilities = static_cast<std::uint32_t>(a.best.size());
      taken.ignore_eos = a.ignore_eos;
      taken.restored = s.processed != 0;
      taken.step_latency_ns = s.step_latency_ns;
      model_.observer().taken(taken);
    }
  }
  void show_ended([[maybe_unused]] RequestId id, [[maybe_unused]] FinishReason reason) const noexcept {
    if constexpr (exec::WatchesRuns<O>) {
      if (reason == FinishReason::cancelled)
        model_.observer().ended(static_cast<std::uint64_t>(id), exec::EndedBy::cancel);
      if (reason == FinishReason::callback)
        model_.observer().ended(static_cast<std::uint64_t>(id), exec::EndedBy::callable);
    }
  }
  void show_stepped([[maybe_unused]] bool completed) const noexcept {
    if constexpr (exec::WatchesRuns<O>) model_.observer().stepped(completed);
  }

 private:
  const Model& model_;
  Serving<B>& serving_;
};

}  // namespace zrt::inline ZRT_ABI::detail
