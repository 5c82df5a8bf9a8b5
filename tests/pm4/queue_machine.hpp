// SPDX-License-Identifier: Apache-2.0
// tests/pm4/queue_machine.hpp: both ways to the queues of a modelled machine, for tests of what they share.
#pragma once

#include <zrt/backend/pm4/umq/transport.hpp>

#include <pm4/kfd_machine.hpp>

namespace zrt::test {

using UmqDevice = pm4::umq::Device<EmulatedOs>;
using UmqMemory = pm4::umq::Memory<EmulatedOs>;
using UmqTransport = pm4::umq::Transport<EmulatedOs>;

/// A call that gives something back, and what a queue and three memories leave with the process where it always fails.
struct GivingBack {
  std::uint32_t request;
  zrt::emulator::LiveHandles kept;
};

/// A way, with the oldest kernel that has all of its checks.
struct Kfd {
  using Transport = KfdTransport;
  static constexpr zrt::emulator::KernelVersion kernel = zrt::emulator::kLinux6_12;
  /// Video memory that random cycles fill.
  static constexpr std::uint64_t little_video = 32 << 20;
  /// What errors say: of a load from memory that is not mapped, of a write to what is mapped to be read, of a queue.
  static constexpr std::string_view unmapped_read = "that is not mapped";
  static constexpr std::string_view forbidden_write = "that is not writable";
  static constexpr std::string_view first_queue = "queue 0";
  static constexpr auto calls = pm4::kfd::kCalls;
  static constexpr std::uint32_t asked_in_waits = pm4::kfd::kWaitEvents;
  // The buffers are the queue's six and three more. What is mapped cannot be freed.
  static constexpr GivingBack giving_back[]{{pm4::kfd::kDestroyQueue, {.queues = 1}},
                                            {pm4::kfd::kDestroyEvent, {.events = 3}},
                                            {pm4::kfd::kUnmapMemory, {.ranges = 9, .buffers = 9}},
                                            {pm4::kfd::kFreeMemory, {.ranges = 9, .buffers = 9}}};
};
struct Umq {
  using Transport = UmqTransport;
  static constexpr zrt::emulator::KernelVersion kernel = zrt::emulator::kLinux6_16;
  static constexpr std::uint64_t little_video = 12 << 20;
  static constexpr std::string_view unmapped_read = "that it may not read (status 0x00000010)";
  static constexpr std::string_view forbidden_write = "that it may not write (status 0x00040010)";
  static constexpr std::string_view first_queue = "queue 1";
  static constexpr auto calls = pm4::umq::kCalls;
  static constexpr std::uint32_t asked_in_waits = pm4::umq::kInfo;
  // The buffers are the queue's five, its doorbells and three more. Those of a queue that stays are only its doorbells.
  static constexpr GivingBack giving_back[]{{pm4::umq::kUserQueue, {.buffers = 1, .queues = 1}},
                                            {pm4::umq::kGemVa, {.ranges = 8, .buffers = 8}},
                                            {pm4::umq::kGemClose, {.ranges = 8, .buffers = 9}}};
};

}  // namespace zrt::test
