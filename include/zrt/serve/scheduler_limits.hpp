// SPDX-License-Identifier: Apache-2.0
// zrt/serve/scheduler_limits.hpp: the sizes of a scheduler, fixed when it is made.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/siphash.hpp>
#include <zrt/serve/page_meta.hpp>

namespace zrt::inline ZRT_ABI::serve {

struct SchedulerLimits {
  std::uint32_t tenants = 64;
  std::uint32_t sessions = 64 * 256;  ///< of all tenants: as many as these may have where their quotas do not say
  std::uint32_t slots = 16;
  std::uint32_t queue = 1024;    ///< requests that wait
  std::uint32_t arrivals = 256;  ///< in one step
  std::uint32_t pages = 4096;
  std::uint32_t prefix_pages = 819;  ///< that slots leave to cached prefixes
  std::uint32_t context = 4096;      ///< positions of one request
  std::uint32_t step_tokens = 512;
  std::uint32_t draft_tokens = 0;  ///< guesses that the runs of a step read together
  std::uint32_t scored_rows = 0;   ///< rows that reach the head beside one of each slot, see Arrival::scored
  bool recurrent = false;          ///< a slot has state beside its pages: recurrent layers, or pages behind a window
  bool goes_back = false;          ///< such state can go back over wrong guesses: pages can, recurrent layers cannot
  std::uint32_t checkpoints = 0;   ///< kept states of such a model; 0: it resumes at its first token
  std::uint32_t checkpoint_pages = 32;  ///< from one kept state to the next in a long text
  std::uint32_t shelf = 0;  ///< states of preempted requests of such a model that go on where they were; see StateShelf
  std::uint32_t slow_steps = 256;     ///< that a client may leave a token unread, and
  std::uint64_t slow_ns = 0;          ///< nanoseconds: it ends where both have passed
  std::uint32_t floor_patience = 64;  ///< steps that a lower class waits for pages before others stop taking them
  std::uint32_t model = 0;            ///< the host's number of the model, which slots show and keys of prefixes hold
  std::uint32_t kv_type = 0;          ///< its number of the type of keys and values: the same
  std::uint32_t hash_bits = 64;
  SipKey key{};  ///< random, from the host
};

[[nodiscard]] inline Result<void> check(const SchedulerLimits& l) noexcept {
  constexpr std::uint32_t kMost = 1u << 29;
  const struct {
    const char* name;
    std::uint32_t value;
  } counts[] = {{"tenants", l.tenants},     {"sessions", l.sessions},
                {"slots", l.slots},         {"queue", l.queue},
                {"arrivals", l.arrivals},   {"pages", l.pages},
                {"context", l.context},     {"step_tokens", l.step_tokens},
                {"hash_bits", l.hash_bits}, {"checkpoint_pages", l.checkpoint_pages}};
  for (const auto& c : counts)
    if (c.value == 0 || c.value > kMost)
      return fail(Errc::invalid_argument, "a scheduler's ", c.name, " must be 1 to ", kMost, ", found ", c.value);
  if (l.checkpoints > kMost)
    return fail(Errc::invalid_argument, "checkpoints must be at most ", kMost, ", found ", l.checkpoints);
  if (l.shelf > kMost) return fail(Errc::invalid_argument, "shelf must be at most ", kMost, ", found ", l.shelf);
  if (l.prefix_pages >= l.pages)
    return fail(Errc::invalid_argument, "prefix_pages must leave some of ", l.pages, " pages, found ", l.prefix_pages);
  if (l.step_tokens < l.slots + kPageTokens)
    return fail(Errc::invalid_argument, "a step must hold a token of each of ", l.slots, " slots and ", kPageTokens,
                " of a prompt, found ", l.step_tokens);
  if (l.draft_tokens > l.step_tokens - l.slots)
    return fail(Errc::invalid_argument, "draft_tokens must be at most the ", l.step_tokens - l.slots,
                " tokens that a step holds beside its slots', found ", l.draft_tokens);
  return {};
}

}  // namespace zrt::inline ZRT_ABI::serve
