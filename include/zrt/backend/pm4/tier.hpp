// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/tier.hpp: the ways to a card's queues, and the trial of one.
#pragma once

#include <zrt/backend/pm4/transport.hpp>
#include <zrt/core/slice.hpp>

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

/// Why each way that was tried does not work, as one error.
class TierFailures {
 public:
  void add(Tier tier, const Error& why) noexcept { failures_[count_++] = {tier, why}; }

  /// Says for each way which step failed and why, and that there are other backends; its code is that of the last way.
  /// What a card's drivers fail with fits; of longer texts, which the device model has, each gets its share, with an
  /// ellipsis where that ends.
  [[nodiscard]] Error error() const noexcept {
    Error all(count_ == 0 ? Errc::unsupported_device : failures_[count_ - 1].why.code());
    std::size_t room = Error::kTextCapacity - kOthers.size(), texts = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      room -= name(failures_[i].tier).size() + kSeparators;
      texts += failures_[i].why.text().size();
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const std::string_view text = failures_[i].why.text();
      all.append(name(failures_[i].tier)).append(": ");
      if (texts <= room || text.size() <= room / count_)
        all.append(text);
      else
        all.append(slice(text, 0, room / count_ - kEllipsis.size())).append(kEllipsis);
      all.append("; ");
    }
    return all.append(kOthers);
  }

 private:
  struct Failure {
    Tier tier{};
    Error why{};
  };
  static constexpr std::string_view kOthers = "cpu and reference need no card", kEllipsis = "...";
  static constexpr std::size_t kSeparators = 4;  // of a name and of a text

  std::array<Failure, kTiers.size()> failures_{};
  std::size_t count_ = 0;
};

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
