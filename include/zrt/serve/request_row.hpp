// SPDX-License-Identifier: Apache-2.0
// zrt/serve/request_row.hpp: one generation, from its arrival to its end.
#pragma once

#include <zrt/serve/handle.hpp>

namespace zrt::inline ZRT_ABI::serve {

enum class RequestStage : std::uint8_t {
  free,      ///< the row names no request
  waiting,   ///< in its tenant's queue, new or preempted
  running,   ///< in a slot
  parked,    ///< preempted, and in no queue until the client reads the token that is held for it
  draining,  ///< complete, its last token held until the client reads
};

/// A request. Its tokens lie in the host's memory.
struct RequestRow {
  std::uint32_t generation = 0;
  RequestStage stage = RequestStage::free;
  bool client_blocked = false;
  bool holds_token = false;  ///< one token waits for the client, or the rest of a prompt that is told
  bool shares = true;        ///< its pages may be in the prefix tree
  std::uint32_t held_token = 0;
  std::uint64_t held_since = 0;  ///< step
  std::uint64_t held_at = 0;     ///< nanoseconds
  std::uint32_t tenant = kNone;
  std::uint32_t session = kNone;
  std::uint64_t tag = 0;       ///< the host's
  std::uint64_t sequence = 0;  ///< by order of arrival
  std::uint32_t* tokens = nullptr;
  std::uint32_t prompt = 0;
  std::uint32_t most = 0;     ///< tokens to generate
  std::uint32_t adapter = 0;  ///< see Arrival
  std::uint32_t scored = 0;   ///< see Arrival
  std::uint32_t told = 0;     ///< of these, positions that the host has read
  std::uint32_t generated = 0;
  std::uint32_t delivered = 0;
  std::uint32_t charged = 0;  ///< positions that fairness has counted, or found in the prefix tree
  std::uint32_t slot = kNone;
  std::uint32_t preemptions = 0;
  std::uint32_t shelf = kNone;     ///< row of the state with which it was preempted, until a run has loaded it
  std::uint32_t next = kNone;      ///< in the tenant's queue
  std::uint64_t arrived = 0;       ///< nanoseconds
  std::uint64_t last_token = 0;    ///< nanoseconds
  std::uint64_t step_latency = 0;  ///< see Arrival

  /// Whether the host has still to read logits of the prompt.
  [[nodiscard]] bool tells() const noexcept { return told < scored; }
  [[nodiscard]] std::uint32_t known() const noexcept { return prompt + generated; }
  /// Whether only its last token is left to read behind `position`: it goes on with its answer.
  [[nodiscard]] bool decodes_at(std::uint32_t position) const noexcept {
    return generated != 0 && position + 1 == known();
  }
  /// Whether it has tokens to compute, now or later.
  [[nodiscard]] bool goes_on() const noexcept {
    return stage == RequestStage::waiting || stage == RequestStage::running || stage == RequestStage::parked;
  }
};

}  // namespace zrt::inline ZRT_ABI::serve
