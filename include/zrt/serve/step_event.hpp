// SPDX-License-Identifier: Apache-2.0
// zrt/serve/step_event.hpp: what the scheduler tells a host.
#pragma once

#include <zrt/serve/handle.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI::serve {

enum class EventKind : std::uint8_t {
  tenant_created,
  tenant_changed,
  tenant_removed,
  session_opened,
  session_closed,
  accepted,  ///< a request waits
  refused,   ///< an arrival came to nothing: see Refusal
  admitted,  ///< a request has a slot; `value` is its position: tokens found in the prefix tree, or where it was preempted
  token,     ///< `value` is the token
  preempted,
  ended,  ///< see EndReason
};

enum class Refusal : std::uint8_t {
  none,
  unknown_subject,    ///< no such tenant, session or request (any more)
  bad_quota,          ///< check(TenantQuota) says why
  too_many_tenants,   ///< no row for another
  too_many_sessions,  ///< no row for another, or as many as the tenant may have
  reservation,        ///< the reserved pages do not fit the pool beside those of others
  queue_full,         ///< try again after `retry_after`
  tenant_queue_full,  ///< the same, for the tenant's own queue
  empty_request,      ///< no prompt, or nothing to generate
  context_too_long,   ///< longer than the model's or the tenant's context
  pages_too_many,     ///< needs more pages than the tenant may have
};

enum class EndReason : std::uint8_t {
  none,
  stopped,          ///< the model ended the answer
  length,           ///< all tokens that were asked for
  cancelled,        ///< by the host
  client_too_slow,  ///< held a token for too many steps
  failed,           ///< by its own fault
  session_closed,
  tenant_removed,
  quota_lowered,  ///< it no longer fits its tenant's pages or context
};

/// The stable name of a refusal.
[[nodiscard]] constexpr std::string_view name(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::none:
      return "none";
    case Refusal::unknown_subject:
      return "unknown_subject";
    case Refusal::bad_quota:
      return "bad_quota";
    case Refusal::too_many_tenants:
      return "too_many_tenants";
    case Refusal::too_many_sessions:
      return "too_many_sessions";
    case Refusal::reservation:
      return "reservation";
    case Refusal::queue_full:
      return "queue_full";
    case Refusal::tenant_queue_full:
      return "tenant_queue_full";
    case Refusal::empty_request:
      return "empty_request";
    case Refusal::context_too_long:
      return "context_too_long";
    case Refusal::pages_too_many:
      return "pages_too_many";
  }
  return "unknown";
}

/// One event; those of a step stand in the order in which they came about.
struct StepEvent {
  EventKind kind = EventKind::token;
  Refusal refusal = Refusal::none;
  EndReason end = EndReason::none;
  std::uint64_t tag = 0;  ///< of the arrival, or of the request
  Handle subject = 0;     ///< tenant, session or request
  Handle tenant = 0;      ///< whose it is
  std::uint32_t value = 0;
  std::uint64_t retry_after = 0;  ///< nanoseconds; 0: trying again is no use
};

/// A range of a request's tokens that the machine computes in this step.
struct PlannedRun {
  std::uint32_t slot = 0;
  Handle request = 0;
  std::uint32_t begin = 0;  ///< position of the first token; 0 begins with an empty recurrent state
  std::uint32_t count = 0;
  std::uint32_t drafts = 0;               ///< of these, guesses at the end: a token is drawn behind each, too
  const std::uint32_t* tokens = nullptr;  ///< of position `begin`
  bool decode = false;
  bool sample = false;          ///< a token is drawn behind the last one
  std::uint32_t load = kNone;   ///< the checkpoint to load before the run
  std::uint32_t shelf = kNone;  ///< or the row of the shelf, with the page behind the last border
  std::uint32_t save = kNone;   ///< the checkpoint to write behind it
};

}  // namespace zrt::inline ZRT_ABI::serve
