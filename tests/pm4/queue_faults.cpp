// SPDX-License-Identifier: Apache-2.0
// tests/pm4/queue_faults.cpp: what goes wrong while a queue runs, by either way to it: each fault ends in an error of its own, in time, gives
// everything back, and leaves a process that can go on.
// test-set: smoke
#include <gtest/gtest.h>

#include <optional>
#include <pm4/queue_machine.hpp>
#include <pm4/scaled_add.hpp>

namespace queue_faults_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using zrt::Errc;
using zrt::pm4::GpuAccess;

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Grids whose waves hang after ten thousand instructions.
constexpr zrt::emulator::GridHook kImpatient{
    nullptr,
    [](void*, const zrt::emulator::Dispatch& dispatch,
       const zrt::emulator::AddressSpace& memory) noexcept -> zrt::Result<void> {
      zrt::emulator::Dispatch limited = dispatch;
      limited.instruction_limit = 10000;
      const auto ran = run_dispatch(limited, memory);
      if (!ran) return zrt::pass(ran);
      return {};
    }};

/// A machine with a queue, a page for results, code in video memory and a block of arguments.
template <class Tier> struct Bench {
  using Transport = typename Tier::Transport;
  using Device = typename Transport::Device;
  using Memory = typename Transport::Memory;

  EmulatedOs os{{.kernel = Tier::kernel}, kImpatient};
  std::optional<Device> device;
  std::optional<Transport> transport;
  std::optional<Memory> page, code, arguments;
  KernelDescriptor descriptor{};

  Bench() { begin(); }
  void begin() {
    auto opened = Device::open(os);
    if (!opened) return;
    device.emplace(std::move(*opened));
    open();
    page.emplace(*Memory::allocate(*device, Heap::host_visible, 4096, GpuAccess::read_write));
    code.emplace(*Memory::allocate(*device, Heap::bar, 4096, GpuAccess::execute));
    arguments.emplace(*Memory::allocate(*device, Heap::host_visible, 4096, GpuAccess::read));
    upload();
  }
  void open() {
    auto made = Transport::open(*device, kSmallRing);
    ASSERT_TRUE(made) << text(made) << os.refusal();
    transport.emplace(std::move(*made));
  }
  void upload() {
    const auto blob = scaled_add("gfx1201", descriptor);
    ASSERT_TRUE(blob) << text(blob);
    std::memcpy(code->span().data(), blob->data(), blob->size());
    set_arguments(page->address());
  }
  void set_arguments(std::uint64_t a) {
    zrt::write_little(arguments->span().data(), a);
    zrt::write_little(arguments->span().data() + 8, page->address());
    zrt::write_little(arguments->span().data() + 16, page->address() + 1024);
    zrt::write_little(arguments->span().data() + 24, std::uint32_t{256});
  }
  Words step(std::uint64_t program = 0) const {
    const Launch launch{.program = program_registers<Gfx1201>(descriptor, code->address() + program).value(),
                        .arguments = arguments->address(),
                        .workgroup = {256, 1, 1}};
    Words packets(256);
    PacketWriter<Gfx1201> writer(packets);
    write_full_barrier(writer);
    write_dispatch(writer, launch);
    EXPECT_TRUE(writer.finish());
    packets.resize(writer.size());
    return packets;
  }
  /// A whole step on the queue that there is.
  std::string run() {
    for (std::uint32_t i = 0; i < 256; ++i)
      zrt::write_little(page->span().data() + 4 * i, std::bit_cast<std::uint32_t>(static_cast<float>(i)));
    const auto fence = transport->submit(step());
    if (!fence) return text(fence);
    if (const auto waited = transport->wait(*fence, kSecond); !waited) return text(waited);
    for (std::uint32_t i = 0; i < 256; ++i)
      if (std::bit_cast<float>(zrt::read_little<std::uint32_t>(page->span().data() + 1024 + 4 * i)) !=
          4.0f * static_cast<float>(i))
        return "wrong result";
    return "";
  }
  /// After a fault: a new queue on the same device works, and all of it is given back.
  void go_on() {
    transport.reset();
    open();
    upload();
    EXPECT_EQ(run(), "");
    close();
  }
  void close() {
    transport.reset();
    page.reset();
    code.reset();
    arguments.reset();
    device.reset();
    EXPECT_TRUE(os.live().none());
  }
};

template <class Tier> class QueueFaults : public testing::Test {};
using Tiers = testing::Types<Kfd, Umq>;
TYPED_TEST_SUITE(QueueFaults, Tiers);

/// What a wait asks the system about a queue that hangs fails with each errno: the wait still ends when its time is over.
TYPED_TEST(QueueFaults, NoAnswerAboutAQueueThatHangs) {
  for (const SystemError& known : kSystemErrors) {
    SCOPED_TRACE(known.name);
    Bench<TypeParam> b;
    const auto fence = b.transport->submit(words_of(WaitMemory{.address = b.page->address(), .reference = ~0u}));
    ASSERT_TRUE(fence) << text(fence);
    const std::uint64_t began = b.os.now(), calls = b.os.calls();
    b.os.fail_request(TypeParam::asked_in_waits, known.number);
    const auto waited = b.transport->wait(*fence, kSecond / 10);
    b.os.fail_request(0, 0);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code(), Errc::limit_exceeded) << text(waited);
    EXPECT_NE(text(waited).find(": no fence "), std::string::npos) << text(waited);
    EXPECT_LE(b.os.now() - began, kSecond / 5);
    EXPECT_GT(b.os.calls(), calls) << "nothing was asked";
    b.close();
  }
}

TYPED_TEST(QueueFaults, AKernelTouchesMemoryThatIsNotMapped) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  b.set_arguments(0x7000'0000'1230);
  const auto fence = b.transport->submit(b.step());
  ASSERT_TRUE(fence);
  const std::uint64_t start = b.os.now();
  const auto waited = b.transport->wait(*fence, 10 * kSecond);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::spec_violation);
  EXPECT_EQ(text(waited), "the GPU touched memory at 0x700000001000 " + std::string(TypeParam::unmapped_read) +
                              "; fence " + std::to_string(*fence) + " is lost");
  EXPECT_LT(b.os.now() - start, kSecond) << "the event is asked for long before the timeout";
  const zrt::emulator::QueueFault& fault = b.os.queues().fault();
  EXPECT_EQ(fault.access.address, 0x7000'0000'1230u);
  EXPECT_EQ(fault.access.wanted, zrt::emulator::Permission::read);
  EXPECT_FALSE(fault.access.mapped);
  EXPECT_EQ(fault.dispatch, 2u);
  // The next queue is not blamed for it, however long a wait takes.
  b.transport.reset();
  b.open();
  const auto hung = b.transport->submit(words_of(WaitMemory{.address = b.page->address(), .reference = ~0u}));
  ASSERT_TRUE(hung);
  EXPECT_EQ(b.transport->wait(*hung, kSecond).error().code(), Errc::limit_exceeded);
  b.go_on();
}

TYPED_TEST(QueueFaults, AFaultLikeTheOneBeforeIsToldOrThoughtOf) {
  Bench<TypeParam> b;
  const auto faulted = [&](std::uint64_t at) {
    b.set_arguments(at);
    const auto fence = b.transport->submit(b.step());
    EXPECT_TRUE(fence);
    return fence ? b.transport->wait(*fence, kSecond) : zrt::Result<void>{};
  };
  const auto expect_told = [](const zrt::Result<void>& waited, std::string_view page) {
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code(), Errc::spec_violation) << text(waited);
    EXPECT_TRUE(text(waited).starts_with("the GPU touched memory at " + std::string(page))) << text(waited);
  };
  const auto reopen = [&] {
    b.transport.reset();
    b.open();
  };
  expect_told(faulted(0x7000'0000'1230), "0x700000001000 ");
  reopen();
  if (const auto again = faulted(0x7000'0000'1230); std::is_same_v<TypeParam, Umq>) {
    // The driver tells a file's last fault, and not when it was.
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code(), Errc::limit_exceeded) << text(again);
    EXPECT_NE(text(again).find(", perhaps a fault at 0x700000001000 again, next "), std::string::npos) << text(again);
  } else {
    expect_told(again, "0x700000001000 ");
  }
  reopen();
  expect_told(faulted(0x7000'0000'2230), "0x700000002000 ");
  b.close();
  b.begin();
  // Whoever opens the device anew is told of his own.
  expect_told(faulted(0x7000'0000'2230), "0x700000002000 ");
  b.go_on();
}

TYPED_TEST(QueueFaults, AKernelLoadsWordsThatAreNotAligned) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  b.set_arguments(b.page->address() + 2);
  const auto fence = b.transport->submit(b.step());
  ASSERT_TRUE(fence);
  const auto waited = b.transport->wait(*fence, kSecond);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
  EXPECT_NE(text(waited).find("is not aligned to 4"), std::string::npos) << text(waited);
  b.go_on();
}

TYPED_TEST(QueueFaults, AKernelNeverEnds) {
  Bench<TypeParam> b;
  // s_branch to itself.
  zrt::write_little(b.code->span().data() + 2048, std::uint32_t{0xbfa0ffff});
  auto packets = b.step();
  // The program's address, behind the barrier and the acquire: HDP flush 7, ACQUIRE_MEM 8 and 8, header and offset.
  constexpr std::size_t program = 7 + 8 + 8 + 2;
  packets[program] = static_cast<std::uint32_t>((b.code->address() + 2048) >> 8);
  const auto fence = b.transport->submit(packets);
  ASSERT_TRUE(fence);
  const auto waited = b.transport->wait(*fence, kSecond);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
  EXPECT_NE(text(waited).find("the wave has not ended after"), std::string::npos) << text(waited);
  b.go_on();
}

TYPED_TEST(QueueFaults, AWaitIsNeverOver) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  const auto fence = b.transport->submit(words_of(WaitMemory{.address = b.page->address(), .reference = ~0u}));
  ASSERT_TRUE(fence);
  const auto waited = b.transport->wait(*fence, kSecond / 100);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
  const std::string next = ", next WAIT_REG_MEM " + std::string(Hex(b.page->address())) + " RELEASE_MEM";
  EXPECT_NE(text(waited).find(next), std::string::npos) << text(waited);
  b.go_on();
}

TYPED_TEST(QueueFaults, AFenceIsLost) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  b.os.lose_next_fence();
  const auto lost = b.transport->submit(words_of(PartialFlush{}));
  ASSERT_TRUE(lost);
  // The next fence is a later position of the ring: it stands for those before it.
  const auto next = b.transport->submit(words_of(PartialFlush{}));
  ASSERT_TRUE(next);
  EXPECT_TRUE(b.transport->wait(*lost, kSecond));
  b.os.lose_next_fence();
  const auto last = b.transport->submit(words_of(PartialFlush{}));
  ASSERT_TRUE(last);
  // Sooner than a wait asks for another.
  const auto waited = b.transport->wait(*last, kSecond / 20);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
  EXPECT_NE(text(waited).find(", next EVENT_WRITE RELEASE_MEM"), std::string::npos) << text(waited);
  b.go_on();
}

TYPED_TEST(QueueFaults, TheDeviceIsResetInMidStep) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  // A fence of the step's own, so that the queue stands between its halves.
  Words packets = b.step();
  const Words half = words_of(ReleaseMem{.address = b.page->address() + 4088, .value = 1});
  packets.insert(packets.end(), half.begin(), half.end());
  const Words rest = b.step();
  packets.insert(packets.end(), rest.begin(), rest.end());
  const auto fence = b.transport->submit(packets);
  ASSERT_TRUE(fence);
  b.os.pause();
  EXPECT_EQ(zrt::read_little<std::uint64_t>(b.page->span().data() + 4088), 1u);
  EXPECT_FALSE(b.transport->passed(*fence));
  b.os.reset_device();
  for (int i = 0; i < 2; ++i) {
    const auto waited = b.transport->wait(*fence, 10 * kSecond);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code(), Errc::unsupported_device) << text(waited);
  }
  const auto later = b.transport->submit(packets);
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code(), Errc::unsupported_device);
  // Video memory is lost with it, and no queue is made beside what was there.
  EXPECT_EQ(b.code->span()[0], std::byte{0xcc});
  b.transport.reset();
  const auto beside = TypeParam::Transport::open(*b.device, kSmallRing);
  ASSERT_FALSE(beside);
  EXPECT_EQ(beside.error().code(), Errc::io_error) << text(beside);
  EXPECT_NE(b.os.refusal().find("a reset took"), std::string_view::npos) << b.os.refusal();
  b.close();
  b.begin();
  b.go_on();
}

TYPED_TEST(QueueFaults, DoorbellsAreRefused) {
  Bench<TypeParam> b;
  b.transport.reset();
  for (const int error : {EPERM, EAGAIN, ENOMEM, EINVAL}) {
    const auto before = b.os.live();
    b.os.refuse_doorbells(error);
    const auto refused = TypeParam::Transport::open(*b.device, kSmallRing);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(text(refused).starts_with("mapping doorbells failed with E")) << text(refused);
    EXPECT_EQ(refused.error().code() == Errc::out_of_memory, error == ENOMEM);
    EXPECT_EQ(b.os.live(), before);
    b.os.refuse_doorbells(0);
    b.open();
    EXPECT_EQ(b.run(), "");
    b.transport.reset();
  }
  b.close();
}

TYPED_TEST(QueueFaults, AStepLacksABarrier) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  const Words step = b.step();
  zrt::write_little(b.page->span().data(), std::uint32_t{7});
  // Registers and grid alone: 7 + 8 + 8 dwords of barrier and acquire are left out.
  const auto fence = b.transport->submit(std::span(step).subspan(23));
  ASSERT_TRUE(fence);
  const auto waited = b.transport->wait(*fence, kSecond);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::limit_exceeded);
  EXPECT_NE(text(waited).find("the host wrote: ACQUIRE_MEM with GLV_INV is missing"), std::string::npos)
      << text(waited);
  b.go_on();
}

TYPED_TEST(QueueFaults, TheQueueGoesWhileAStepRuns) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  ASSERT_TRUE(b.transport->submit(b.step()));
  b.go_on();
}

TYPED_TEST(QueueFaults, MemoryGoesWhileAStepRuns) {
  Bench<TypeParam> b;
  ASSERT_EQ(b.run(), "");
  const auto fence = b.transport->submit(b.step());
  ASSERT_TRUE(fence);
  b.arguments.reset();
  const auto waited = b.transport->wait(*fence, kSecond);
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code(), Errc::spec_violation) << text(waited);
  b.arguments.emplace(*Bench<TypeParam>::Memory::allocate(*b.device, Heap::host_visible, 4096, GpuAccess::read));
  b.go_on();
}

}  // namespace
}  // namespace queue_faults_test
