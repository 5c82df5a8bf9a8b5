// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/tier.hpp: the ways to a card's queues, and the trial of one.
#pragma once

#include <zrt/backend/pm4/transport.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

/// How packets reach a card.
enum class Tier : std::uint8_t {
  kfd,         ///< T1: a queue of /dev/kfd
  user_queue,  ///< T2: a user queue of amdgpu's render node
};

/// In the order in which they are tried.
inline constexpr auto kTiers = std::to_array<Tier>({Tier::user_queue, Tier::kfd});

[[nodiscard]] constexpr std::string_view name(Tier tier) noexcept {
  return tier == Tier::kfd ? "/dev/kfd" : "user queue";
}

/// Opens the device of that way, and proves it: a small queue passes a fence.
///
/// Errors: those of the device and of its queue: they say which step failed, and why.
template <PacketTransport Transport, OperatingSystem Os>
[[nodiscard]] Result<typename Transport::Device> try_tier(Os& os) noexcept {
  constexpr TransportOptions small{.ring_bytes = kPageBytes, .timeout = std::uint64_t{2} * 1'000'000'000};
  auto device = Transport::Device::open(os);
  if (!device) return device;
  // The queue goes before its device moves.
  const auto passed = [&]() -> Result<void> {
    auto transport = Transport::open(*device, small);
    if (!transport) return pass(transport);
    const auto fence = transport->submit({});
    if (!fence) return pass(fence);
    return transport->wait(*fence, small.timeout);
  }();
  if (!passed) return pass(passed);
  return device;
}

}  // namespace zrt::inline ZRT_ABI::pm4
