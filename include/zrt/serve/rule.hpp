// SPDX-License-Identifier: Apache-2.0
// zrt/serve/rule.hpp: the rules of the scheduler by name, so that a test can break one at a time.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// What the scheduler must do for its promises to hold. Each stands at one place in its code.
enum class Rule : std::uint8_t {
  compare_tokens,        ///< a prefix hit compares the 16 tokens, not their hash alone
  compare_scope,         ///< a prefix hit is of the same tenant or group
  compare_domain,        ///< a prefix hit is of the same model, type, cache group and adapter
  compare_parent,        ///< a prefix hit continues the page before it
  seal_shared,           ///< a page of the tree has no owner that may write it
  full_pages_only,       ///< only pages with 16 computed tokens enter the tree
  remap_before_free,     ///< a duplicate page leaves the page list before it is freed
  release_tail_first,    ///< pages are released from the last to the first
  release_every_page,    ///< a slot that ends keeps no page
  release_once,          ///< a page is released once
  evict_oldest,          ///< of cached pages the one that was released first goes
  forget_evicted,        ///< an evicted page leaves the tree
  pin_read_pages,        ///< pages that a run reads are its slot's until its outcome is known
  free_with_page,        ///< a checkpoint goes with its page
  pin_checkpoint,        ///< a checkpoint that a slot will load stays
  hit_needs_checkpoint,  ///< a recurrent model resumes where a state was kept
  save_at_border,        ///< a state is kept exactly at a page border
  shelve_state,          ///< a preempted request of a recurrent model keeps its state
  clear_shelf,           ///< until it goes on, or ends
  yield_shelf,           ///< but one whose client does not read gives its row up
  restore_tail,          ///< it goes on with the page behind its last page border
  load_shelf,            ///< and with its state
  reservation_fits,      ///< reservations fit the pool when a tenant is created
  page_quota,            ///< a tenant's pages
  floating_limit,        ///< pages beyond reservations come from the floating part
  uncharge_pages,        ///< a slot that ends gives its charge back
  slot_quota,            ///< a tenant's slots
  decode_rate,           ///< a tenant's decode tokens in 5 s
  prefill_rate,          ///< a tenant's prefill tokens in 5 s
  resume_rate,           ///< in which those count that a preempted request goes on with
  turns_in_rate,         ///< a tenant's slots decode in turn where its rate does not suffice for all
  context_quota,         ///< a tenant's tokens per request
  session_quota,         ///< a tenant's sessions
  queue_depth,           ///< requests that wait
  share_queue,           ///< tenants that fill the queue leave places for others
  count_unread,          ///< answers in no slot that nobody reads count as their tenant's waiting ones
  counter_order,         ///< the tenant with the least service is next
  lift_counter,          ///< a tenant banks no service
  inherit_service,       ///< tenants that come one after another do not begin anew
  weigh_service,         ///< service counts by weight
  charge_prefill,        ///< prompt tokens count as service
  floor_slot,            ///< lower classes keep a slot
  floor_turns,           ///< the lower classes hold it in turn
  even_drafts,           ///< drafts do not stretch an interactive answer's gaps beyond its target and its budget
  whole_floor,           ///< the floor has all its pages set aside
  hold_floor_pages,      ///< pages that become free are the floor's when it has waited long enough
  hold_in_class,         ///< a request that lacks pages is not overtaken in its class
  pass_whole,            ///< but by who has all its pages at once, within its reservation
  prompts_in_order,      ///< of a class's prompts that of the tenant with the least service is read next
  yield_floor,           ///< an interactive request that lacks pages has them before the next floor
  wait_unread,           ///< a preempted request whose client does not read waits until it does
  free_idle_floor,       ///< who computes nothing does not keep it
  add_up_idle,           ///< nor who computes in less than half of the steps
  take_idle,             ///< and anybody may have the slot of one whose client does not read
  class_order,           ///< a higher class takes a lower one's slot
  keep_interactive,      ///< no other interactive request is preempted
  decode_first,          ///< decode tokens come before prompts
  even_gaps,             ///< beside an interactive answer, prompts of lower classes are short where time is
  take_target,           ///< a request's target time of steps is its own
  step_target,           ///< prompts are short where a request names a target time of steps
  first_token,           ///< prompts are short where another tenant may want its first token
  floor_prompt,          ///< the floor's prompt has a share of every step
  token_cap,             ///< tokens in a step
  set_aside,             ///< a request that was preempted twice has all its pages set aside
  keep_set_aside,        ///< and yields to higher classes alone
  resume_in_place,       ///< a preempted request resumes behind its last token
  requeue_preempted,     ///< a preempted request waits again
  drop_own,              ///< pages that are a request's own go with it
  cancel_at_once,        ///< a cancelled request ends in the same step
  end_once,              ///< a request ends once
  deliver_held,          ///< a token that was held for a slow client is delivered
  end_slow_clients,      ///< a client that does not read ends
  wait_for_clients,      ///< and not before its time
  end_with_session,      ///< a closed session's requests end
  end_with_tenant,       ///< a removed tenant's requests end
  spare_others,          ///< and nobody else's
  spare_sessions,        ///< nor do those of a tenant's other sessions end with one
  spare_fitting,         ///< nor those that a lowered quota still has room for
  spare_waiting,         ///< nor those that wait where a run fails
  compare_generation,    ///< a handle names one request, not the next one in its row
  compare_session,       ///< a request names an open session of its own tenant
  drop_scope,            ///< a removed tenant's pages leave the tree
  count_tokens,          ///< the ledger counts what was delivered
  count_cached,          ///< and what a request found when it was first admitted
  bill_prompts,          ///< and what it was asked to read
  count_refused,         ///< and what was refused
  count_early_ends,      ///< and what ended early
  count_preemptions,     ///< and what was preempted
  time_first_token,      ///< and how long a first token took
  verify_drafts,         ///< a draft is a token only where the sampler drew it
  return_drafts,         ///< drafts that came to nothing count against no rate
  drop_drafts,           ///< pages of drafts that came to nothing go back
  charge_drafts,         ///< drafts stay within the pages that a slot is charged
  tell_all,              ///< no prefix stands in for a position of a prompt whose logits the host has still to read
  cap_rows,              ///< such prompts have a row each in a step, and share what else there is
  hold_prompts,          ///< reading of such a prompt stops for a client that does not read
  tell_once,             ///< a preempted request goes on behind what was told
};
inline constexpr std::uint32_t kRules = static_cast<std::uint32_t>(Rule::tell_once) + 1;

/// Keeps every rule, at no cost: what hosts use.
struct AllRules {
  [[nodiscard]] static constexpr bool keeps(Rule) noexcept { return true; }
};

}  // namespace zrt::inline ZRT_ABI::serve
