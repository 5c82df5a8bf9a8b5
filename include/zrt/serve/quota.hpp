// SPDX-License-Identifier: Apache-2.0
// zrt/serve/quota.hpp: what a tenant may use.
#pragma once

#include <zrt/core/error.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI::serve {

/// How urgent a tenant's requests are.
enum class ServiceClass : std::uint8_t {
  interactive,  ///< first in line, not preempted while its client reads; its pages are set aside when it is admitted
  standard,     ///< preempted by interactive
  batch,        ///< preempted by both; keeps a share of the machine all the same
};
inline constexpr std::uint32_t kServiceClasses = 3;

/// A latency budget that is the class's; see LatencyBudget.
inline constexpr std::uint64_t kBudgetOfClass = ~std::uint64_t{0};

/// Quotas of a tenant. Each is a limit that no step exceeds. A lower one than before counts at once for what runs, and
/// for what comes: requests that wait already, and open sessions, stay.
struct TenantQuota {
  std::uint32_t max_slots = 4;
  std::uint32_t max_pages = 4096;  ///< a shared page counts in full in each slot that lists it
  std::uint32_t reserved_pages = 0;
  /// Tokens of answers over any 5 s, but for the first of each, which comes with its prompt. A preempted request's next one
  /// counts too.
  std::uint32_t decode_tokens_per_s = 1000;
  std::uint32_t prefill_tokens_per_s = 100'000;  ///< over any 5 s
  std::uint32_t max_context = 128'000;           ///< prompt and answer of one request
  std::uint32_t max_queued = 256;
  std::uint32_t weight = 16;  ///< share of service beside tenants of the same class; 1 to 256
  std::uint32_t group = 0;    ///< tenants of the same group share prefixes; 0: of none
  std::uint32_t max_sessions = 256;
  ServiceClass service = ServiceClass::standard;
  /// Nanoseconds to the first token, as far as the prompts of others delay it; 0: no matter.
  std::uint64_t first_token_ns = kBudgetOfClass;
  /// Nanoseconds by which prompts of lower classes may stretch the gap between two tokens; 0: no matter.
  std::uint64_t gap_ns = kBudgetOfClass;
};

inline constexpr std::uint32_t kMostWeight = 256;

/// Whether a quota is one that a tenant can live on.
[[nodiscard]] inline Result<void> check(const TenantQuota& q) noexcept {
  const auto least_one = [](const char* what, std::uint32_t found) {
    return fail(Errc::invalid_argument, "a tenant's ", what, " must be at least 1, found ", found);
  };
  if (q.max_slots == 0) return least_one("max_slots", q.max_slots);
  if (q.max_pages == 0) return least_one("max_pages", q.max_pages);
  if (q.decode_tokens_per_s == 0) return least_one("decode_tokens_per_s", q.decode_tokens_per_s);
  if (q.prefill_tokens_per_s == 0) return least_one("prefill_tokens_per_s", q.prefill_tokens_per_s);
  if (q.max_queued == 0) return least_one("max_queued", q.max_queued);
  if (q.max_context < 2)
    return fail(Errc::invalid_argument, "max_context must hold a prompt and an answer, found ", q.max_context);
  if (q.weight == 0 || q.weight > kMostWeight)
    return fail(Errc::invalid_argument, "a tenant's weight must be 1 to ", kMostWeight, ", found ", q.weight);
  if (q.reserved_pages > q.max_pages)
    return fail(Errc::invalid_argument, "reserved_pages must be at most max_pages, ", q.max_pages, ", found ",
                q.reserved_pages);
  if (static_cast<std::uint32_t>(q.service) >= kServiceClasses)
    return fail(Errc::invalid_argument, "no class has number ", static_cast<std::uint32_t>(q.service));
  return {};
}

}  // namespace zrt::inline ZRT_ABI::serve
