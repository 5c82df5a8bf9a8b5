// SPDX-License-Identifier: Apache-2.0
// zrt/serve/tenant_ledger.hpp: what a tenant asked for and got.
#pragma once

#include <zrt/serve/latency_histogram.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::serve {

/// Counters of a tenant since it was created. Bills read `prompt_tokens` and `delivered_tokens`; fairness charges
/// computed tokens alone, once.
struct TenantLedger {
  std::uint64_t prompt_tokens = 0;      ///< of accepted requests that ask for a token
  std::uint64_t cached_tokens = 0;      ///< found in the prefix tree
  std::uint64_t computed_tokens = 0;    ///< for the first time
  std::uint64_t recomputed_tokens = 0;  ///< again, after a preemption
  std::uint64_t delivered_tokens = 0;
  std::uint64_t drafted_tokens = 0;   ///< guesses that were computed
  std::uint64_t accepted_drafts = 0;  ///< of these, tokens of answers
  std::uint64_t drafts = 0;           ///< how often guesses were computed, however many at once
  std::uint64_t requests_accepted = 0;
  std::uint64_t requests_refused = 0;
  std::uint64_t requests_finished = 0;
  std::uint64_t requests_ended_early = 0;  ///< cancelled, too slow or failed
  std::uint64_t admissions = 0;            ///< resumed requests counted again
  std::uint64_t preemptions = 0;
  std::uint32_t peak_pages = 0;
  LatencyHistogram first_token{};  ///< nanoseconds from the step that read the request to the step of its first token
  LatencyHistogram token_gap{};    ///< nanoseconds between a request's tokens

  /// Adds what a former row of the same tenant counted. Of the peaks the higher one counts.
  TenantLedger& operator+=(const TenantLedger& other) noexcept {
    constexpr auto kSums = std::to_array<std::uint64_t TenantLedger::*>(
        {&TenantLedger::prompt_tokens, &TenantLedger::cached_tokens, &TenantLedger::computed_tokens,
         &TenantLedger::recomputed_tokens, &TenantLedger::delivered_tokens, &TenantLedger::drafted_tokens,
         &TenantLedger::accepted_drafts, &TenantLedger::drafts, &TenantLedger::requests_accepted,
         &TenantLedger::requests_refused, &TenantLedger::requests_finished, &TenantLedger::requests_ended_early,
         &TenantLedger::admissions, &TenantLedger::preemptions});
    // Every counter is here.
    static_assert(sizeof(TenantLedger) == kSums.size() * 8 + sizeof(std::uint64_t) + 2 * sizeof(LatencyHistogram));
    for (const auto sum : kSums) this->*sum += other.*sum;
    peak_pages = other.peak_pages > peak_pages ? other.peak_pages : peak_pages;
    first_token += other.first_token;
    token_gap += other.token_gap;
    return *this;
  }
};

}  // namespace zrt::inline ZRT_ABI::serve
