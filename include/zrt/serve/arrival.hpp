// SPDX-License-Identifier: Apache-2.0
// zrt/serve/arrival.hpp: what a host tells the scheduler.
#pragma once

#include <zrt/serve/handle.hpp>
#include <zrt/serve/quota.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// How long there is nothing to do where no request is left; see Scheduler::idle and Engine::idle_ns.
inline constexpr std::uint64_t kUntilSubmit = ~std::uint64_t{0};

enum class ArrivalKind : std::uint8_t {
  create_tenant,
  change_tenant,
  remove_tenant,  ///< ends its requests
  open_session,
  close_session,  ///< ends its requests
  submit,
  cancel,
  client_blocked,  ///< the client does not read: hold its next token
  client_ready,
  drop_cache,  ///< forget prefixes that no slot uses
};

/// One thing that happened since the last step. `tag` comes back in the answer.
struct Arrival {
  ArrivalKind kind = ArrivalKind::submit;
  std::uint64_t tag = 0;
  Handle subject = 0;  ///< the tenant; the session to close; the request to cancel, block or free
  Handle session = 0;  ///< of a submission, or 0
  TenantQuota quota{};
  /// A prompt with room for `most` tokens behind it. It is the host's and stays until the request ends; the scheduler
  /// appends what was generated.
  std::uint32_t* tokens = nullptr;
  std::uint32_t prompt = 0;
  std::uint32_t most = 0;
  std::uint32_t adapter = 0;  ///< on which its keys and values depend; 0: none. A number names one adapter for ever
  /// Leading positions of the prompt whose logits the host reads: their rows reach the head, SchedulerLimits::scored_rows
  /// a step beside one of each slot, and no cached prefix stands in for one that has not been read.
  std::uint32_t scored = 0;
  std::uint64_t step_latency = 0;  ///< target time of steps while it runs, in nanoseconds; 0: none
  bool shares =
      true;  ///< its pages follow from tokens and adapter, so that prefixes may be taken from it and given to it
};

/// Guesses for the tokens that a request generates next, in order. A run reads them behind its last known token; those
/// that the sampler draws itself count, and no other.
struct Draft {
  const std::uint32_t* tokens = nullptr;
  std::uint32_t count = 0;
};

/// What came of a planned run.
struct Outcome {
  std::uint32_t token = 0;  ///< where the run sampled, behind the drafts that were accepted
  bool last = false;        ///< the token ends the answer
  bool empty = false;       ///< the answer ended before this token: there is none
  bool failed = false;      ///< this request's fault: it ends alone
  bool again = false;       ///< nothing came of a run with drafts, which may be their fault: it is computed once more
  std::uint32_t accepted = 0;  ///< leading drafts of the run that are the answer's tokens
};

}  // namespace zrt::inline ZRT_ABI::serve
