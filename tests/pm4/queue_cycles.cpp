// SPDX-License-Identifier: Apache-2.0
// tests/pm4/queue_cycles.cpp: all that is taken of a modelled machine is given back: whichever call fails, without memory,
// in random order.
// test-set: smoke
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <pm4/queue_machine.hpp>
#include <random>
#include <tools/gguf_counting_allocator.hpp>
#include <vector>

namespace queue_cycles_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using zrt::Errc;
using zrt::Result;
using zrt::pm4::GpuAccess;

/// Opens a device with a queue and memory of each heap, and closes all; `calls` is how many calls the opening took.
template <class Tier> Result<void> open_all(EmulatedOs& os, std::uint64_t& calls) {
  using Memory = typename Tier::Transport::Memory;
  const auto device = Tier::Transport::Device::open(os);
  if (!device) return zrt::pass(device);
  const auto transport = Tier::Transport::open(*device, kSmallRing);
  if (!transport) return zrt::pass(transport);
  const auto local = Memory::allocate(*device, Heap::device_local, 10000, GpuAccess::read_write);
  if (!local) return zrt::pass(local);
  const auto bar = Memory::allocate(*device, Heap::bar, 10000, GpuAccess::execute);
  if (!bar) return zrt::pass(bar);
  const auto visible = Memory::allocate(*device, Heap::host_visible, 10000, GpuAccess::read);
  if (!visible) return zrt::pass(visible);
  // Those that give back come after these.
  calls = os.calls();
  return {};
}

template <class Tier> class QueueCycles : public testing::Test {};
using Tiers = testing::Types<Kfd, Umq>;
TYPED_TEST_SUITE(QueueCycles, Tiers);

TYPED_TEST(QueueCycles, GiveEverythingBackWhicheverCallFails) {
  EmulatedOs whole({.kernel = TypeParam::kernel});
  std::uint64_t calls = 0;
  ASSERT_TRUE(open_all<TypeParam>(whole, calls));
  EXPECT_TRUE(whole.live().none());
  EXPECT_EQ(whole.queues().stopped(), "") << "a queue goes before its buffers";
  ASSERT_GT(calls, 30u);
  std::size_t refused = 0, interrupted = 0;
  for (std::uint64_t number = 1; number <= calls; ++number)
    for (const SystemError& known : kSystemErrors) {
      const int error = known.number;
      EmulatedOs os({.kernel = TypeParam::kernel});
      os.fail_call(number, error);
      std::uint64_t made = 0;
      const auto opened = open_all<TypeParam>(os, made);
      EXPECT_TRUE(os.live().none()) << number << ' ' << error << ' ' << text(opened) << ' ' << os.refusal();
      EXPECT_EQ(os.queues().stopped(), "") << number << ' ' << error;
      if (opened) {
        interrupted += error == EINTR || error == EAGAIN;
        continue;
      }
      ++refused;
      EXPECT_FALSE(opened.error().text().empty());
      EXPECT_EQ(opened.error().code(), known.code) << number << ' ' << text(opened);
      // Where the topology has no such node it ends.
      EXPECT_TRUE(error == ENOENT || text(opened).find(known.name) != std::string::npos) << text(opened);
    }
  // Calls that were interrupted, or shall be made again, are; all but mmap.
  EXPECT_GT(interrupted, calls);
  EXPECT_GT(refused, 300u);
}

/// A driver that gives one errno to one kind of call for ever: no errno holds the caller, EINTR and EAGAIN neither.
TYPED_TEST(QueueCycles, GiveEverythingBackWhicheverKindOfCallAlwaysFails) {
  const zrt::Span<const IoctlCall> all = TypeParam::calls;
  std::size_t refused = 0;
  for (const IoctlCall& one : all)
    for (const SystemError& known : kSystemErrors) {
      EmulatedOs os({.kernel = TypeParam::kernel});
      os.fail_request(one.request, known.number);
      std::uint64_t made = 0;
      const auto opened = open_all<TypeParam>(os, made);
      os.fail_request(0, 0);
      if (opened) continue;
      ++refused;
      EXPECT_EQ(opened.error().code(), known.code) << one.name << ' ' << text(opened);
      EXPECT_EQ(text(opened).find(one.name), 0u) << text(opened);
      EXPECT_NE(text(opened).find(known.name), std::string::npos) << text(opened);
    }
  EXPECT_GE(refused, 7 * kSystemErrors.size());
}

/// A queue with work that nobody waited for, and memory of each heap.
template <class Transport> struct Held {
  using Memory = typename Transport::Memory;
  std::optional<Transport> transport;
  std::vector<Memory> memories;

  Result<void> take(const typename Transport::Device& device) {
    auto made = Transport::open(device, kSmallRing);
    if (!made) return zrt::pass(made);
    transport.emplace(std::move(*made));
    for (const Heap heap : {Heap::device_local, Heap::bar, Heap::host_visible}) {
      auto memory = Memory::allocate(device, heap, 10000, GpuAccess::read_write);
      if (!memory) return zrt::pass(memory);
      memories.push_back(std::move(*memory));
    }
    const auto first = transport->submit(words_of(PartialFlush{}));
    if (!first) return zrt::pass(first);
    if (auto r = transport->wait(*first, 1'000'000'000); !r) return r;
    const auto left = transport->submit(words_of(PartialFlush{}));
    if (!left) return zrt::pass(left);
    return {};
  }
  void give_back() {
    transport.reset();
    memories.clear();
  }
};

TYPED_TEST(QueueCycles, GiveEverythingBackWhereACallThatGivesBackFailsOnce) {
  using Transport = typename TypeParam::Transport;
  std::uint64_t calls = 1;
  for (std::uint64_t number = 1; number <= calls; ++number)
    for (const int error : {ENOMEM, EBUSY}) {
      EmulatedOs os({.kernel = TypeParam::kernel});
      {
        const auto device = Transport::Device::open(os);
        ASSERT_TRUE(device) << text(device);
        const std::size_t files = os.live().files;
        Held<Transport> held;
        ASSERT_TRUE(held.take(*device)) << os.refusal();
        const std::uint64_t before = os.calls();
        os.fail_call(number, error);
        held.give_back();
        calls = os.calls() - before - 1;
        EXPECT_EQ(os.live().files, files);
        EXPECT_EQ(os.live().total(), files) << number << ' ' << error << ' ' << os.refusal();
        const auto again = held.take(*device);
        EXPECT_TRUE(again) << number << ' ' << error << ' ' << text(again) << ' ' << os.refusal();
      }
      EXPECT_TRUE(os.live().none()) << number << ' ' << error;
    }
  EXPECT_GT(calls, 20u);
}

TYPED_TEST(QueueCycles, LeaveWithTheProcessOnlyWhatTheKernelKeeps) {
  using Transport = typename TypeParam::Transport;
  for (const auto& [request, kept] : TypeParam::giving_back)
    for (const int error : {EINTR, ENOMEM, EINVAL, EBUSY, EIO}) {
      SCOPED_TRACE(testing::Message() << std::hex << request << ' ' << std::dec << error);
      EmulatedOs os({.kernel = TypeParam::kernel});
      {
        const auto device = Transport::Device::open(os);
        ASSERT_TRUE(device) << text(device);
        zrt::emulator::LiveHandles expected = kept;
        expected.files = os.live().files;
        Held<Transport> held;
        ASSERT_TRUE(held.take(*device)) << os.refusal();
        os.fail_request(request, error);
        held.give_back();
        EXPECT_EQ(os.live(), expected) << os.live().queues << " queues, " << os.live().buffers << " buffers, "
                                       << os.live().ranges << " ranges, " << os.live().events << " events";
        EXPECT_EQ(os.refusal().find("munmap"), std::string_view::npos)
            << "addresses that the GPU has stay the process's";
        os.fail_request(0, 0);
        // What is kept stands in nobody's way.
        for (int i = 0; i < 2; ++i) {
          const auto again = held.take(*device);
          ASSERT_TRUE(again) << text(again) << ' ' << os.refusal() << ' ' << os.queues().stopped();
          held.give_back();
          EXPECT_EQ(os.live(), expected);
        }
      }
      EXPECT_EQ(os.live().files, 0u);
    }
}

TYPED_TEST(QueueCycles, GiveEverythingBackWhereTheMachineHasNoMemory) {
  std::uint64_t fail_at = 0, refused = 0;
  for (bool opened = false; !opened; ++fail_at) {
    CountingAllocator allocator{.fail_at = fail_at};
    {
      EmulatedOs os({.kernel = TypeParam::kernel}, {}, allocator.hook());
      std::uint64_t calls = 0;
      const auto result = open_all<TypeParam>(os, calls);
      opened = result.has_value() && allocator.made <= fail_at;
      EXPECT_TRUE(os.live().none()) << fail_at << ' ' << text(result);
      if (result) continue;
      ++refused;
      // A queue of the model that finds no memory stops, and its fence does not pass.
      const Errc code = result.error().code();
      const bool hangs = text(result).find(": no fence ") != std::string::npos;
      EXPECT_EQ(code, hangs ? Errc::limit_exceeded : Errc::out_of_memory) << fail_at << ' ' << text(result);
    }
    EXPECT_EQ(allocator.live, 0u) << fail_at;
  }
  EXPECT_GT(refused, 15u);
}

/// How many random cycles: a few, or as many as the environment wants.
std::uint64_t cycles() {
  const char* const wanted = std::getenv("ZRT_PM4_CYCLES");
  return wanted == nullptr ? 300 : std::strtoull(wanted, nullptr, 10);
}

TYPED_TEST(QueueCycles, GiveEverythingBackInRandomOrder) {
  using Transport = typename TypeParam::Transport;
  using Memory = typename Transport::Memory;
  EmulatedOs os({.video_bytes = TypeParam::little_video, .kernel = TypeParam::kernel});
  std::uint64_t submitted = 0, without_room = 0;
  {
    const auto device = Transport::Device::open(os);
    ASSERT_TRUE(device) << text(device);
    const std::uint64_t all = *device->available_memory();
    std::mt19937 random(7);
    std::array<std::optional<Transport>, 3> queues;
    std::array<std::optional<Memory>, 8> memories;
    for (std::uint64_t i = 0; i < cycles(); ++i) {
      auto& queue = queues[random() % queues.size()];
      auto& memory = memories[random() % memories.size()];
      if (memory) {
        memory.reset();
      } else {
        auto made = Memory::allocate(*device, static_cast<Heap>(random() % 3), 1 + random() % (8 << 20),
                                     static_cast<GpuAccess>(random() % 3));
        ASSERT_TRUE(made || made.error().code() == Errc::out_of_memory) << text(made) << os.refusal();
        if (made) memory.emplace(std::move(*made));
        without_room += !made;
      }
      if (!queue) {
        auto made = Transport::open(*device, {.ring_bytes = std::uint64_t{4096} << random() % 3});
        ASSERT_TRUE(made || made.error().code() == Errc::out_of_memory) << text(made) << os.refusal();
        if (made) queue.emplace(std::move(*made));
        without_room += !made;
      } else if (random() % 4 == 0) {
        queue.reset();
      } else {
        // Half of it is not waited for: queues are destroyed while they have work.
        const auto fence = queue->submit(words_of(PartialFlush{}));
        ASSERT_TRUE(fence) << text(fence) << os.queues().stopped();
        const bool waits = random() % 2 == 0;
        ASSERT_TRUE(!waits || queue->wait(*fence, 1'000'000));
        ++submitted;
      }
    }
    for (auto& queue : queues) queue.reset();
    for (auto& memory : memories) memory.reset();
    EXPECT_EQ(*device->available_memory(), all);
  }
  EXPECT_TRUE(os.live().none());
  EXPECT_GT(submitted, 50u);
  EXPECT_GT(without_room, 0u);
}

}  // namespace
}  // namespace queue_cycles_test
