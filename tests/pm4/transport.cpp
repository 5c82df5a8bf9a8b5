// SPDX-License-Identifier: Apache-2.0
// tests/pm4/transport.cpp: packets through the queue of a modelled machine, by either way to it: kernels, the end of the
// ring, full rings, time that runs out, faults and resets.
// test-set: smoke
#include <zrt/backend/pm4/linux_os.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <pm4/queue_machine.hpp>
#include <pm4/scaled_add.hpp>

// Compiles for a real machine too.
template class zrt::pm4::kfd::Transport<zrt::pm4::LinuxOs>;
template class zrt::pm4::umq::Transport<zrt::pm4::LinuxOs>;

namespace transport_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using zrt::Errc;
using zrt::pm4::GpuAccess;

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
  const auto code = Memory::allocate(*device, Heap::bar, blob->size(), GpuAccess::execute);
  const auto data = Memory::allocate(*device, Heap::host_visible, 3 * count * 4, GpuAccess::read_write);
  const auto arguments = Memory::allocate(*device, Heap::host_visible, 32, GpuAccess::read);
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
  for (const auto& version : {zrt::emulator::kLinux6_8, zrt::emulator::kLinux6_12, zrt::emulator::kLinux6_16}) {
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

/// A queue with the smallest ring that a driver takes, and a page for what its packets write.
template <class Tier> struct SmallQueue {
  using Transport = typename Tier::Transport;
  using Device = typename Transport::Device;
  using Memory = typename Transport::Memory;

  EmulatedOs os{{.kernel = Tier::kernel}};
  std::optional<Device> device;
  std::optional<Transport> transport;
  std::optional<Memory> page;

  SmallQueue() {
    auto opened = Device::open(os);
    EXPECT_TRUE(opened) << text(opened);
    device.emplace(std::move(*opened));
    open();
    page.emplace(*Memory::allocate(*device, Heap::host_visible, 4096, GpuAccess::read_write));
  }
  void open() {
    transport.reset();
    auto made = Transport::open(*device, kSmallRing);
    EXPECT_TRUE(made) << text(made) << os.refusal();
    transport.emplace(std::move(*made));
  }
  ~SmallQueue() {
    transport.reset();
    page.reset();
    device.reset();
    EXPECT_TRUE(os.live().none());
  }
  SmallQueue(const SmallQueue&) = delete;
  SmallQueue& operator=(const SmallQueue&) = delete;

  [[nodiscard]] std::uint32_t at(std::size_t offset) const {
    return zrt::read_little<std::uint32_t>(page->span().data() + offset);
  }
  [[nodiscard]] std::uint64_t position() const { return transport->ring().position(); }
  /// Submits and waits; why that failed.
  [[nodiscard]] std::string run(const Words& packets) {
    const auto fence = transport->submit(packets);
    if (!fence) return text(fence);
    const auto waited = transport->wait(*fence, 1'000'000'000);
    return waited ? "" : text(waited) + std::string(os.queues().stopped());
  }
};

constexpr std::size_t kRingDwords = 1024;

template <class Tier> class Transports : public testing::Test {};
using Tiers = testing::Types<Kfd, Umq>;
TYPED_TEST_SUITE(Transports, Tiers);

TYPED_TEST(Transports, KeepASubmissionWholeWhereverTheRingEnds) {
  SmallQueue<TypeParam> q;
  std::array<std::uint32_t, 11> data{};
  const std::size_t submission = words_of(WriteData{q.page->address(), data}).size() + kFenceDwords;
  // The end of the ring comes to lie before each dword of packet and fence, and behind the last.
  for (std::size_t phase = 0; phase <= submission; ++phase) {
    std::size_t fillers = (2 * kRingDwords - phase - q.position() % kRingDwords) % kRingDwords;
    if (fillers < 2 * kFenceDwords) fillers += kRingDwords;
    for (const std::size_t part : {fillers / 2, fillers - fillers / 2})
      ASSERT_EQ(q.run(Words(part - kFenceDwords, kFiller)), "");
    ASSERT_EQ((q.position() + phase) % kRingDwords, 0u);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint32_t>(phase * 100 + i);
    ASSERT_EQ(q.run(words_of(WriteData{q.page->address(), data})), "") << phase;
    for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(q.at(4 * i), data[i]) << phase;
  }
}

TYPED_TEST(Transports, GoRoundASmallRingWithoutACall) {
  SmallQueue<TypeParam> q;
  const std::uint64_t calls = q.os.calls(), fences = q.os.queues().counters().fences;
  std::uint64_t last = 0;
  for (std::uint32_t i = 1; i <= 2000; ++i) {
    const std::array<std::uint32_t, 11> data{i};
    // Never waited for: submit() finds the room.
    const auto fence =
        q.transport->submit(words_of(WriteData{q.page->address(), std::span(data).first(1 + i * i % 11)}));
    ASSERT_TRUE(fence) << text(fence);
    EXPECT_GT(*fence, last);
    last = *fence;
  }
  ASSERT_TRUE(q.transport->wait(last, 1'000'000'000));
  EXPECT_EQ(q.at(0), 2000u);
  EXPECT_EQ(q.os.calls(), calls);
  EXPECT_EQ(q.os.queues().counters().fences - fences, 2000u);
  const auto future = q.transport->wait(last + 1, 1);
  ASSERT_FALSE(future);
  EXPECT_EQ(future.error().code(), Errc::invalid_argument);
}

TYPED_TEST(Transports, TakeWhatTheRingHoldsAndSayWhenItStaysFull) {
  SmallQueue<TypeParam> q;
  EXPECT_EQ(q.run(Words(kRingDwords - kFenceDwords, kFiller)), "");
  const auto large = q.transport->submit(Words(kRingDwords - kFenceDwords + 1, kFiller));
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Errc::capacity_exceeded);
  EXPECT_EQ(q.run(words_of(PartialFlush{})), "") << "it is as it was";

  // Nothing moves behind a wait that is never over.
  ASSERT_TRUE(q.transport->submit(words_of(WaitMemory{.address = q.page->address(), .reference = 1})));
  std::size_t submitted = 0;
  zrt::Result<std::uint64_t> fence = 0;
  while ((fence = q.transport->submit(words_of(PartialFlush{})))) ++submitted;
  EXPECT_EQ(submitted, (kRingDwords - 7 - kFenceDwords) / (2 + kFenceDwords));
  EXPECT_EQ(fence.error().code(), Errc::limit_exceeded);
  const std::string next =
      ", next WAIT_REG_MEM " + std::string(Hex(q.page->address())) + " RELEASE_MEM EVENT_WRITE RELEASE_MEM";
  EXPECT_NE(text(fence).find(next), std::string::npos) << text(fence);
  EXPECT_EQ(text(q.transport->submit(words_of(PartialFlush{}))), text(fence));
  q.open();
  EXPECT_EQ(q.run(words_of(PartialFlush{})), "");
}

TYPED_TEST(Transports, TellWhereAQueueHangs) {
  SmallQueue<TypeParam> q;
  for (int i = 0; i < 150; ++i) ASSERT_EQ(q.run(words_of(PartialFlush{})), "");
  const std::uint64_t good = q.position();
  EXPECT_GT(good, kRingDwords);
  const auto fence = q.transport->submit(words_of(WaitMemory{.address = q.page->address(), .reference = 1}));
  ASSERT_TRUE(fence);
  const auto waited = q.transport->wait(*fence, 5'000'000);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
  // The read pointer is a place in the ring.
  const std::string end = std::to_string(good + 15);
  EXPECT_EQ(text(waited), std::string(TypeParam::first_queue) + ": no fence " + end + " in 5 ms, written " + end +
                              ", read " + std::to_string(good % kRingDwords) + " of 1024, passed " +
                              std::to_string(good) + ", next WAIT_REG_MEM " + std::string(Hex(q.page->address())) +
                              " RELEASE_MEM");
  EXPECT_EQ(q.os.queues().stopped(), "") << "a wait is no fault of the stream";
  const auto later = q.transport->submit(words_of(PartialFlush{}));
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().text(), waited.error().text());
}

TYPED_TEST(Transports, TellWhatTheModelComplainsOfAndWhereTheQueueStands) {
  SmallQueue<TypeParam> q;
  const std::uint64_t good = q.position();
  const auto fence = q.transport->submit(words_of(WriteWaitRegister{0x1234, 0x1235}));
  ASSERT_TRUE(fence);
  const auto waited = q.transport->wait(*fence, 5'000'000);
  ASSERT_FALSE(waited);
  const std::string end = std::to_string(good + 15), said = text(waited);
  EXPECT_NE(
      said.find(": no fence " + end + " in 5 ms, written " + end + ", read " + std::to_string(good % kRingDwords) +
                " of 1024, passed " + std::to_string(good) + ", next WAIT_REG_MEM: " + std::string(q.os.complaint())),
      std::string::npos)
      << said;
  EXPECT_NE(q.os.complaint(), "");
}

/// The kernel takes the event page before it makes the event, and keeps it where that fails.
TEST(KfdTransport, OpensAfterAnEventFailedBehindThePageThatItBrought) {
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  const auto before = os.live();
  for (const bool taken : {false, true}) {
    SCOPED_TRACE(taken);
    for (const int error : {ENOMEM, ENOSPC}) {
      if (taken)
        os.refuse_events_behind_page(error);
      else
        os.fail_request(zrt::pm4::kfd::kCreateEvent, error);
      const auto refused = zrt::test::KfdTransport::open(*device, kSmallRing);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), Errc::out_of_memory) << text(refused);
      EXPECT_EQ(os.live(), before) << "beside the page, which is the process's";
      EXPECT_EQ(os.event_page().address != 0, taken);
      os.refuse_events_behind_page(0);
      os.fail_request(0, 0);
    }
  }
  {
    auto again = zrt::test::KfdTransport::open(*device, kSmallRing);
    ASSERT_TRUE(again) << text(again) << ' ' << os.refusal();
    const auto fence = again->submit(words_of(PartialFlush{}));
    ASSERT_TRUE(fence && again->wait(*fence, 1'000'000));
  }
  EXPECT_EQ(os.live(), before);
}

/// A wait of more than 0.1 s sleeps until the interrupt that it asks for, where the ring has room for that.
TEST(KfdTransport, SleepsWhereAWaitIsLong) {
  constexpr std::uint64_t millisecond = 1'000'000;
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  auto first = zrt::test::KfdTransport::open(*device, kSmallRing);
  auto second = zrt::test::KfdTransport::open(*device, kSmallRing);
  ASSERT_TRUE(first && second) << "they share the process's event page: " << text(second) << os.refusal();
  const Words filled(kRingDwords - kFenceDwords, kFiller);
  for (const bool full : {false, true, false}) {
    SCOPED_TRACE(full);
    // What woke the last one is followed by a fence.
    os.pause();
    os.pause();
    const std::uint64_t start = os.now(), calls = os.calls();
    const std::uint64_t before = os.queues().counters().interrupts;
    os.hold_queues(350 * millisecond);
    const auto fence = second->submit(full ? filled : words_of(PartialFlush{}));
    ASSERT_TRUE(fence);
    const auto waited = second->wait(*fence, 10'000 * millisecond);
    ASSERT_TRUE(waited) << text(waited);
    EXPECT_EQ(os.queues().counters().interrupts - before, full ? 0u : 1u);
    EXPECT_GE(os.now() - start, 350 * millisecond);
    EXPECT_LE(os.now() - start, 352 * millisecond);
    EXPECT_LT(os.calls() - calls, 16u);
  }
  const std::uint64_t calls = os.calls();
  const auto fence = second->submit(words_of(PartialFlush{}));
  ASSERT_TRUE(fence && second->wait(*fence, millisecond));
  EXPECT_EQ(os.calls(), calls) << "a short wait makes no call";
}

TYPED_TEST(Transports, WaitInARingAndInABufferForWhatTheHostWritesLater) {
  SmallQueue<TypeParam> q;
  const auto buffer = SmallQueue<TypeParam>::Memory::allocate(*q.device, Heap::host_visible, 4096, GpuAccess::read);
  ASSERT_TRUE(buffer);
  const std::array<std::uint32_t, 1> one{1};
  const WaitMemory wait{.address = q.page->address(), .reference = 1};
  const Words inner = words_of(WriteData{q.page->address() + 8, one}, wait, WriteData{q.page->address() + 12, one});
  std::memcpy(buffer->span().data(), inner.data(), inner.size() * 4);
  for (const bool in_buffer : {false, true}) {
    SCOPED_TRACE(in_buffer);
    std::memset(q.page->span().data(), 0, 16);
    const std::uint64_t packets = q.os.queues().counters().packets;
    const auto fence = q.transport->submit(
        in_buffer ? words_of(q.transport->indirect_buffer(buffer->address(), static_cast<std::uint32_t>(inner.size())))
                  : inner);
    ASSERT_TRUE(fence);
    for (int i = 0; i < 10; ++i) q.os.pause();
    EXPECT_EQ(q.at(8), 1u);
    EXPECT_EQ(q.at(12), 0u);
    EXPECT_FALSE(q.transport->passed(*fence));
    zrt::write_little(q.page->span().data(), std::uint32_t{1});
    const auto waited = q.transport->wait(*fence, 1'000'000);
    ASSERT_TRUE(waited) << text(waited) << q.os.queues().stopped();
    EXPECT_EQ(q.at(12), 1u);
    // Every packet counts once, however often a wait has looked.
    EXPECT_EQ(q.os.queues().counters().packets - packets, in_buffer ? 5u : 4u);
  }
}

TYPED_TEST(Transports, TellOfAMemoryFault) {
  SmallQueue<TypeParam> q;
  // What the GPU may read only.
  const auto page = SmallQueue<TypeParam>::Memory::allocate(*q.device, Heap::host_visible, 4096, GpuAccess::read);
  ASSERT_TRUE(page);
  const std::array<std::uint32_t, 1> data{1};
  const auto fence = q.transport->submit(words_of(WriteData{page->address(), data}));
  ASSERT_TRUE(fence);
  const auto waited = q.transport->wait(*fence, 1'000'000);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::spec_violation) << text(waited);
  EXPECT_NE(q.os.queues().stopped().find("forbids writing"), std::string_view::npos) << q.os.queues().stopped();
  EXPECT_EQ(text(waited), "the GPU touched memory at " + std::string(Hex(page->address())) + ' ' +
                              std::string(TypeParam::forbidden_write) + "; fence " + std::to_string(*fence) +
                              " is lost");
  const zrt::emulator::QueueFault& fault = q.os.queues().fault();
  EXPECT_EQ(fault.access.address, page->address());
  EXPECT_EQ(fault.access.wanted, zrt::emulator::Permission::write);
  EXPECT_TRUE(fault.access.mapped);
  EXPECT_EQ(fault.dispatch, 0u) << "a packet wrote";
}

TYPED_TEST(Transports, TellOfAReset) {
  SmallQueue<TypeParam> q;
  const auto fence = q.transport->submit(words_of(PartialFlush{}));
  ASSERT_TRUE(fence);
  q.os.reset_device();
  const auto waited = q.transport->wait(*fence, 1'000'000);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::unsupported_device);
  EXPECT_EQ(text(waited), "the GPU was reset; fence " + std::to_string(*fence) + " is lost");
}

TEST(UmqTransport, NeedsComputeUnitsOfEachEngineOfTheCardAlone) {
  for (const TargetFacts* const target : {&kTargetFacts<Gfx1201>, &kTargetFacts<Gfx1100>}) {
    SCOPED_TRACE(target->name);
    EmulatedOs os({.target = target, .shader_engines = 2, .kernel = Umq::kernel}, kInterpreter);
    const auto device = UmqDevice::open(os);
    ASSERT_TRUE(device) << text(device);
    // What the registers of a dispatch lack comes behind what its masks lack.
    const auto refusal = [&](std::uint16_t mask, std::uint32_t value) {
      auto transport = zrt::test::UmqTransport::open(*device, kSmallRing);
      EXPECT_TRUE(transport) << text(transport) << os.refusal();
      Words packets(256);
      PacketWriter<Gfx1201> writer(packets);
      writer.add(SetShReg{mask, std::array<std::uint32_t, 1>{value}});
      write_dispatch(writer, {.workgroup = {32, 1, 1}});
      EXPECT_TRUE(writer.finish());
      const auto fence = transport->submit(std::span(packets).first(writer.size()));
      EXPECT_TRUE(fence);
      EXPECT_FALSE(transport->wait(*fence, 1'000'000));
      return std::string(os.queues().stopped());
    };
    const std::uint16_t first = register_offset("COMPUTE_STATIC_THREAD_MGMT_SE0"),
                        third = register_offset("COMPUTE_STATIC_THREAD_MGMT_SE2");
    EXPECT_EQ(refusal(first, 0),
              "DISPATCH_DIRECT has COMPUTE_STATIC_THREAD_MGMT_SE0 = 0x00000000 on a card of 2 shader engines");
    EXPECT_EQ(refusal(third, 1),
              "DISPATCH_DIRECT has COMPUTE_STATIC_THREAD_MGMT_SE2 = 0x00000001 on a card of 2 shader engines");
    EXPECT_EQ(refusal(first, 1).find("COMPUTE_STATIC_THREAD"), std::string::npos);
  }
}

TYPED_TEST(Transports, RefuseTheOthersFormOfAnIndirectBuffer) {
  SmallQueue<TypeParam> q;
  IndirectBuffer other = q.transport->indirect_buffer(q.page->address(), 4);
  other.inherit_vmid = !other.inherit_vmid;
  EXPECT_NE(q.run(words_of(other)).find("INDIRECT_BUFFER has INHERIT_VMID_MQD"), std::string::npos);
  // The same of a chain inside.
  SmallQueue<TypeParam> inside;
  IndirectBuffer chain = inside.transport->indirect_buffer(inside.page->address() + 1024, 2);
  chain.chain = true;
  chain.inherit_vmid = !chain.inherit_vmid;
  const Words first = words_of(chain);
  std::memcpy(inside.page->span().data(), first.data(), first.size() * 4);
  EXPECT_NE(inside.run(words_of(inside.transport->indirect_buffer(inside.page->address(), 4)))
                .find("INDIRECT_BUFFER has INHERIT_VMID_MQD"),
            std::string::npos);
}

}  // namespace
}  // namespace transport_test
