// SPDX-License-Identifier: Apache-2.0
// tests/pm4/queue_machine.hpp: both ways to the queues of a modelled machine, for tests of what they share.
#pragma once

#include <zrt/backend/pm4/umq/transport.hpp>

#include <pm4/kfd_machine.hpp>

namespace zrt::test {

using UmqDevice = pm4::umq::Device<EmulatedOs>;
using UmqMemory = pm4::umq::Memory<EmulatedOs>;
using UmqTransport = pm4::umq::Transport<EmulatedOs>;

/// A way, with the oldest kernel that has all of its checks.
struct Kfd {
  using Transport = KfdTransport;
  static constexpr pm4::emulator::KernelVersion kernel = pm4::emulator::kLinux6_12;
  /// Video memory that random cycles fill.
  static constexpr std::uint64_t little_video = 32 << 20;
};
struct Umq {
  using Transport = UmqTransport;
  static constexpr pm4::emulator::KernelVersion kernel = pm4::emulator::kLinux6_16;
  static constexpr std::uint64_t little_video = 12 << 20;
};

}  // namespace zrt::test
