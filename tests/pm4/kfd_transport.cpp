// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kfd_transport.cpp: packets through the queue of a modelled machine: kernels, full rings, time that runs out,
// faults and resets.
// test-set: smoke
#include <zrt/backend/pm4/linux_os.hpp>

#include <gtest/gtest.h>

#include <pm4/queue_machine.hpp>
#include <pm4/scaled_add.hpp>

// Compiles for a real machine too.
template class zrt::pm4::kfd::Transport<zrt::pm4::LinuxOs>;
template class zrt::pm4::umq::Transport<zrt::pm4::LinuxOs>;

namespace kfd_transport_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using kfd::Access;
using kfd::Heap;
using zrt::Errc;

/// Uploads, dispatches and compares on one machine.
template <class Target, class Tier> void run_scaled_add(EmulatedOs& os) {
  using Transport = typename Tier::Transport;
  using Memory = typename Transport::Memory;
  const auto device = Transport::Device::open(os);
  ASSERT_TRUE(device) << text(device) << os.refusal();
  ASSERT_EQ(device->target().name, Target::name);
  auto transport = Transport::open(*device);
  ASSERT_TRUE(transport) << text(transport) << os.refusal();
  KernelDescriptor descriptor;
  const auto blob = scaled_add(std::string(Target::name), descriptor);
  ASSERT_TRUE(blob) << text(blob);

  constexpr std::uint32_t count = 300;
  const auto code = Memory::allocate(*device, Heap::bar, blob->size(), Access::execute);
  const auto data = Memory::allocate(*device, Heap::host_visible, 3 * count * 4, Access::read_write);
  const auto arguments = Memory::allocate(*device, Heap::host_visible, 32, Access::read);
  ASSERT_TRUE(code && data && arguments);
  std::memcpy(code->span().data(), blob->data(), blob->size());
  auto* const floats = reinterpret_cast<float*>(data->span().data());
  for (std::uint32_t i = 0; i < count; ++i) {
    floats[i] = static_cast<float>(i);
    floats[count + i] = 0.5f * static_cast<float>(i) - 7.0f;
  }
  for (std::uint32_t i = 0; i < 3; ++i)
    zrt::write_little(arguments->span().data() + 8 * i, data->address() + std::uint64_t{i} * count * 4);
  zrt::write_little(arguments->span().data() + 24, count);

  const auto program = program_registers<Target>(descriptor, code->address());
  ASSERT_TRUE(program) << text(program);
  Words packets(256);
  PacketWriter<Target> writer(packets);
  write_full_barrier(writer);
  write_dispatch(writer,
                 {.program = *program, .arguments = arguments->address(), .workgroup = {256, 1, 1}, .grid = {2, 1, 1}});
  ASSERT_TRUE(writer.finish()) << text(writer.finish());

  const std::uint64_t calls = os.calls(), rung = os.queues().doorbells_rung();
  const auto fence = transport->submit(std::span(packets).first(writer.size()));
  ASSERT_TRUE(fence) << text(fence);
  EXPECT_FALSE(transport->passed(*fence));
  const auto waited = transport->wait(*fence, 1'000'000'000);
  ASSERT_TRUE(waited) << text(waited) << os.queues().stopped();
  EXPECT_TRUE(transport->passed(*fence));
  EXPECT_EQ(os.calls(), calls) << "submit and wait make no system call";
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(floats[2 * count + i], floats[i] + floats[count + i] * 3.0f) << i;
  EXPECT_EQ(os.queues().counters().dispatches, 1u);
  EXPECT_EQ(os.queues().doorbells_rung(), rung + 1);
}

TEST(KfdTransport, RunsAKernelOnEachCardAndKernelVersion) {
  for (const auto& version : {emulator::kLinux6_8, emulator::kLinux6_12, emulator::kLinux6_16}) {
    SCOPED_TRACE(version.name);
    EmulatedOs rdna4({.target = &kTargetFacts<Gfx1201>, .kernel = version}, kInterpreter);
    run_scaled_add<Gfx1201, Kfd>(rdna4);
    EXPECT_TRUE(rdna4.live().none());
    EmulatedOs rdna3({.target = &kTargetFacts<Gfx1100>, .kernel = version}, kInterpreter);
    run_scaled_add<Gfx1100, Kfd>(rdna3);
    EXPECT_TRUE(rdna3.live().none());
  }
}

TEST(UmqTransport, RunsAKernelOnEachCard) {
  EmulatedOs rdna4({.target = &kTargetFacts<Gfx1201>, .kernel = Umq::kernel}, kInterpreter);
  run_scaled_add<Gfx1201, Umq>(rdna4);
  EXPECT_TRUE(rdna4.live().none());
  EmulatedOs rdna3({.target = &kTargetFacts<Gfx1100>, .shader_engines = 6, .kernel = Umq::kernel}, kInterpreter);
  run_scaled_add<Gfx1100, Umq>(rdna3);
  EXPECT_TRUE(rdna3.live().none());
}

TEST(KfdTransport, GoesRoundASmallRingWithoutACall) {
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device) << text(device);
  auto transport = KfdTransport::open(*device, kSmallRing);
  ASSERT_TRUE(transport) << text(transport) << os.refusal();
  const auto page = KfdMemory::allocate(*device, Heap::host_visible, 4096, Access::read_write);
  ASSERT_TRUE(page);
  const std::uint64_t calls = os.calls();
  std::uint64_t last = 0;
  for (std::uint32_t i = 1; i <= 5000; ++i) {
    const std::array<std::uint32_t, 11> data{i};
    // Never waited for: submit() finds the room.
    const auto fence = transport->submit(words_of(WriteData{page->address(), std::span(data).first(1 + i * i % 11)}));
    ASSERT_TRUE(fence) << text(fence);
    EXPECT_GT(*fence, last);
    last = *fence;
  }
  ASSERT_TRUE(transport->wait(last, 1'000'000'000));
  EXPECT_EQ(zrt::read_little<std::uint32_t>(page->span().data()), 5000u);
  EXPECT_EQ(os.calls(), calls);
  EXPECT_EQ(os.queues().counters().fences, 5000u);
  const auto large = transport->submit(Words(1024, kNopWord));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Errc::capacity_exceeded);
  const auto future = transport->wait(last + 1, 1);
  ASSERT_FALSE(future);
  EXPECT_EQ(future.error().code(), Errc::invalid_argument);
}

TEST(KfdTransport, TellsWhereAQueueHangs) {
  EmulatedOs os;
  {
    const auto device = KfdDevice::open(os);
    ASSERT_TRUE(device);
    auto transport = KfdTransport::open(*device, kSmallRing);
    ASSERT_TRUE(transport);
    const auto page = KfdMemory::allocate(*device, Heap::host_visible, 4096, Access::read_write);
    ASSERT_TRUE(page);
    std::uint64_t good = 0;
    for (int i = 0; i < 150; ++i) {
      const auto fence = transport->submit(words_of(PartialFlush{}));
      ASSERT_TRUE(fence && transport->wait(*fence, 1'000'000));
      good = *fence;
    }
    EXPECT_EQ(good, 1500u);
    const auto fence = transport->submit(words_of(WaitMemory{.address = page->address(), .reference = 1}));
    ASSERT_TRUE(fence);
    const auto waited = transport->wait(*fence, 5'000'000);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
    // The read pointer is a place in the ring.
    EXPECT_EQ(text(waited),
              "queue 0 has not passed fence 1515 in 5 ms: written 1515, read 476 of 1024 dwords, last fence 1500, "
              "behind it WAIT_REG_MEM RELEASE_MEM");
    EXPECT_EQ(os.queues().stopped(), "") << "a wait is no fault of the stream";
    const auto later = transport->submit(words_of(PartialFlush{}));
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().text(), waited.error().text());
  }
  EXPECT_TRUE(os.live().none());
}

TEST(KfdTransport, WaitsInARingAndInABufferForWhatTheHostWritesLater) {
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  auto transport = KfdTransport::open(*device, kSmallRing);
  ASSERT_TRUE(transport);
  const auto page = KfdMemory::allocate(*device, Heap::host_visible, 4096, Access::read_write);
  const auto buffer = KfdMemory::allocate(*device, Heap::host_visible, 4096, Access::read);
  ASSERT_TRUE(page && buffer);
  const std::array<std::uint32_t, 1> one{1};
  const WaitMemory wait{.address = page->address(), .reference = 1};
  const Words inner = words_of(WriteData{page->address() + 8, one}, wait, WriteData{page->address() + 12, one});
  std::memcpy(buffer->span().data(), inner.data(), inner.size() * 4);
  const auto at = [&](std::size_t offset) { return zrt::read_little<std::uint32_t>(page->span().data() + offset); };
  for (const bool in_buffer : {false, true}) {
    SCOPED_TRACE(in_buffer);
    std::memset(page->span().data(), 0, 16);
    const std::uint64_t packets = os.queues().counters().packets;
    const auto fence = transport->submit(
        in_buffer
            ? words_of(IndirectBuffer{.address = buffer->address(), .dwords = static_cast<std::uint32_t>(inner.size())})
            : inner);
    ASSERT_TRUE(fence);
    for (int i = 0; i < 10; ++i) os.pause();
    EXPECT_EQ(at(8), 1u);
    EXPECT_EQ(at(12), 0u);
    EXPECT_FALSE(transport->passed(*fence));
    zrt::write_little(page->span().data(), std::uint32_t{1});
    const auto waited = transport->wait(*fence, 1'000'000);
    ASSERT_TRUE(waited) << text(waited) << os.queues().stopped();
    EXPECT_EQ(at(12), 1u);
    // Every packet counts once, however often a wait has looked.
    EXPECT_EQ(os.queues().counters().packets - packets, in_buffer ? 5u : 4u);
  }
}

TEST(KfdTransport, TellsOfAMemoryFault) {
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  auto transport = KfdTransport::open(*device, kSmallRing);
  ASSERT_TRUE(transport);
  // What the GPU may read only.
  const auto page = KfdMemory::allocate(*device, Heap::host_visible, 4096, Access::read);
  ASSERT_TRUE(page);
  const std::array<std::uint32_t, 1> data{1};
  const auto fence = transport->submit(words_of(WriteData{page->address(), data}));
  ASSERT_TRUE(fence);
  const auto waited = transport->wait(*fence, 1'000'000);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::spec_violation) << text(waited);
  EXPECT_NE(os.queues().stopped().find("forbids writing"), std::string_view::npos) << os.queues().stopped();
  EXPECT_EQ(text(waited), "the GPU touched memory at " + std::string(Hex(page->address())) +
                              " that is not writable; fence " + std::to_string(*fence) + " is lost");
  const emulator::QueueFault& fault = os.queues().fault();
  EXPECT_EQ(fault.access.address, page->address());
  EXPECT_EQ(fault.access.wanted, emulator::Permission::write);
  EXPECT_TRUE(fault.access.mapped);
  EXPECT_EQ(fault.dispatch, 0u) << "a packet wrote";
}

TEST(KfdTransport, TellsOfAReset) {
  EmulatedOs os;
  {
    const auto device = KfdDevice::open(os);
    ASSERT_TRUE(device);
    auto transport = KfdTransport::open(*device, kSmallRing);
    ASSERT_TRUE(transport);
    const auto fence = transport->submit(words_of(PartialFlush{}));
    ASSERT_TRUE(fence);
    os.reset_device();
    const auto waited = transport->wait(*fence, 1'000'000);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code(), Errc::unsupported_device) << text(waited);
  }
  EXPECT_TRUE(os.live().none());
}

}  // namespace
}  // namespace kfd_transport_test
