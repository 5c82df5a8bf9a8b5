// SPDX-License-Identifier: Apache-2.0
// zrt/exec/run_observer.hpp: an observer of all that decides what an engine computes: requests, batches, tokens; and one that says how prompts are cut.
#pragma once

#include <zrt/core/string.hpp>
#include <zrt/exec/batch.hpp>
#include <zrt/exec/observer.hpp>

namespace zrt::inline ZRT_ABI::exec {

/// A request as an engine took it, with all that decides what becomes of it. Views hold during the call.
struct TakenRequest {
  std::uint64_t id = 0;
  Span<const std::uint32_t> prompt;
  const ops::SampleRequest& sampling;  ///< `history` is the penalty window; 0 without penalties
  Span<const ops::TokenBias> bias;
  Span<const std::int32_t> stop_tokens;
  Span<const String> stop_strings;
  std::uint32_t max_tokens = 0;
  std::uint32_t log_probabilities = 0;
  bool ignore_eos = false;
  bool restored = false;  ///< from a snapshot: it brings state along
  std::uint64_t step_latency_ns = 0;
};

/// Why a request ended that did not end of itself.
enum class EndedBy : std::uint8_t {
  cancel,    ///< cancelled, or stopped, before the next step
  callable,  ///< the callable that heard its last token said no
};

/// An observer of an engine's run. All calls come from the thread that steps the engine, in the order in which things
/// happen: `taken` and `ended` before the step that they count for, `planned`, then for each row that reached the head
/// and has a token `sampled`, then `stepped`. A step that failed or was stopped has no rows, and says so.
template <class O>
concept WatchesRuns = Observer<O> && requires(const O& observer, const TakenRequest& request, const Batch& batch,
                                              std::uint32_t row, std::int32_t token, Span<const float> logits,
                                              std::uint64_t id, EndedBy cause, bool completed) {
  { observer.taken(request) } noexcept;
  { observer.ended(id, cause) } noexcept;
  { observer.planned(batch) } noexcept;
  { observer.sampled(row, token, logits) } noexcept;
  { observer.stepped(completed) } noexcept;
};

/// An observer that says how many prompt tokens of each slot the next step takes; no slots leave it to the planner.
template <class O>
concept DictatesCuts = Observer<O> && requires(const O& observer) {
  { observer.cuts() } noexcept -> std::same_as<Span<const std::uint32_t>>;
};

}  // namespace zrt::inline ZRT_ABI::exec
