// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_row.hpp: what the scheduler knows of a tenant.
#pragma once

#include <zrt/serve/handle.hpp>
#include <zrt/serve/page_meta.hpp>
#include <zrt/serve/quota.hpp>
#include <zrt/serve/tenant_ledger.hpp>
#include <zrt/serve/tenant_use.hpp>
#include <zrt/serve/token_window.hpp>

namespace zrt::inline ZRT_ABI::serve {

/// Service is counted in tokens, one for a position of a prompt and two for a generated one, times this, by weight.
inline constexpr std::uint64_t kServiceUnit = 65536;

struct TenantRow {
  std::uint32_t generation = 0;
  bool live = false;
  bool waits_for_pages = false;  ///< the last step did not admit its first request for want of floating pages
  TenantQuota quota{};
  TokenWindow decoded{};
  TokenWindow prefilled{};
  std::uint64_t service = 0;                          ///< by weight, and lifted to the virtual time of its class
  std::uint64_t computed = 0;                         ///< service here, by no weight and never lifted
  std::array<std::uint64_t, kServiceClasses> left{};  ///< service of the last tenant of each class in this row
  std::uint64_t charge = 0;                           ///< pages
  std::uint32_t slots = 0;
  std::uint32_t queued = 0;
  std::uint32_t unread = 0;        ///< requests in no slot and no queue, of which a token waits for the client
  std::uint32_t sessions = 0;      ///< open ones
  std::uint32_t first_decode = 0;  ///< slot from which its slots decode in this step
  std::uint32_t next_decode = 0;   ///< and in the next one
  std::uint32_t first = kNone;     ///< of the queue
  std::uint32_t last = kNone;
  TenantLedger ledger{};

  /// Who finds this tenant's prefixes.
  [[nodiscard]] PrefixScope scope(std::uint32_t row) const noexcept {
    return quota.group != 0 ? kGroupScope | quota.group : handle_of(row, generation);
  }
  [[nodiscard]] bool backlogged() const noexcept { return queued != 0 || slots != 0; }
  /// What it has had here.
  [[nodiscard]] TenantUse use() const noexcept { return {false, computed, decoded.taken(), prefilled.taken()}; }
  /// Lets time pass; says whether a rate that was used up has room again.
  [[nodiscard]] bool advance(std::uint64_t now) noexcept {
    const bool no_decode = decoded.room(quota.decode_tokens_per_s) == 0;
    const bool no_prefill = prefilled.room(quota.prefill_tokens_per_s) == 0;
    decoded.advance(now);
    prefilled.advance(now);
    return (no_decode && decoded.room(quota.decode_tokens_per_s) != 0) ||
           (no_prefill && prefilled.room(quota.prefill_tokens_per_s) != 0);
  }
  /// Nanoseconds until a rate that is used up may have room; 0: none is.
  [[nodiscard]] std::uint64_t until_rate(std::uint64_t now) const noexcept {
    const std::uint64_t decode = decoded.room(quota.decode_tokens_per_s) == 0 ? decoded.until_room(now) : 0;
    const std::uint64_t prefill = prefilled.room(quota.prefill_tokens_per_s) == 0 ? prefilled.until_room(now) : 0;
    return decode == 0 || (prefill != 0 && prefill < decode) ? prefill : decode;
  }
};

}  // namespace zrt::inline ZRT_ABI::serve
