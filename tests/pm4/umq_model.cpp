// SPDX-License-Identifier: Apache-2.0
// tests/pm4/umq_model.cpp: what the modelled kernel refuses of a user queue, each with its errno and its reason; which
// way to a card is taken.
// test-set: smoke
#include <zrt/backend/pm4/any_transport.hpp>

#include <gtest/gtest.h>

#include <pm4/listing_os.hpp>

namespace umq_model_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using zrt::Errc;
using zrt::pm4::GpuAccess;

constexpr zrt::emulator::Card kCard{.kernel = Umq::kernel};

template <class Arguments> int call(EmulatedOs& os, const UmqDevice& device, std::uint32_t request, Arguments a) {
  return static_cast<int>(-os.ioctl(device.render_file(), request, &a));
}
std::uint64_t address_of(const auto& object) { return reinterpret_cast<std::uintptr_t>(&object); }

/// A queue's buffers, and the arguments that make it.
struct Parts {
  explicit Parts(const UmqDevice& device)
      : ring(*UmqMemory::allocate(device, Heap::host_visible, 8192, GpuAccess::read)),
        write_pointer(*UmqMemory::allocate(device, Heap::host_visible, 4096, GpuAccess::read_write)),
        read_pointer(*UmqMemory::allocate(device, Heap::host_visible, 4096, GpuAccess::read_write)),
        eop(*UmqMemory::allocate_uncached(device, Heap::device_local, 4096, GpuAccess::read_write)),
        cached(*UmqMemory::allocate(device, Heap::device_local, 4096, GpuAccess::read_write)),
        video(*UmqMemory::allocate_uncached(device, Heap::bar, 4096, GpuAccess::read_write)),
        doorbells(*umq::GemBuffer<EmulatedOs>::create(device, {.bo_size = 4096, .domains = umq::kDomainDoorbell})) {}

  UmqMemory ring, write_pointer, read_pointer, eop, cached, video;
  umq::GemBuffer<EmulatedOs> doorbells;
  umq::ComputeMqd mqd{.eop_va = eop.address()};
  umq::UserQueue arguments{.ip_type = umq::kIpCompute,
                           .doorbell_handle = doorbells.handle(),
                           .doorbell_offset = 4,
                           .queue_va = ring.address(),
                           .queue_size = 8192,
                           .rptr_va = read_pointer.address(),
                           .wptr_va = write_pointer.address(),
                           .mqd = address_of(mqd),
                           .mqd_size = sizeof mqd};
};

TEST(UmqModel, RefusesAQueueWithOneFieldWrong) {
  EmulatedOs os(kCard);
  {
    const auto device = UmqDevice::open(os);
    ASSERT_TRUE(device) << text(device) << os.refusal();
    Parts parts(*device);
    const auto refused = [&](int error, std::string_view reason, const auto& change) {
      umq::UserQueue arguments = parts.arguments;
      change(arguments);
      EXPECT_EQ(call(os, *device, umq::kUserQueue, arguments), error) << reason << ": " << os.refusal();
      EXPECT_NE(os.refusal().find(reason), std::string_view::npos) << reason << ": " << os.refusal();
    };
    refused(EINVAL, "operation 3", [](auto& a) { a.op = static_cast<umq::QueueOperation>(3); });
    refused(EINVAL, "flags 8", [](auto& a) { a.flags = 8; });
    refused(EINVAL, "secure", [](auto& a) { a.flags = 4; });
    refused(EACCES, "administrators", [](auto& a) { a.flags = 3; });
    refused(EINVAL, "engine 0", [](auto& a) { a.ip_type = 0; });
    refused(EINVAL, "buffer of doorbells 0", [](auto& a) { a.doorbell_handle = 0; });
    refused(EINVAL, "buffer of doorbells 1", [](auto& a) { a.doorbell_handle = 1; });
    refused(EINVAL, "behind its buffer", [](auto& a) { a.doorbell_offset = 512; });
    refused(EINVAL, "no ring", [](auto& a) { a.queue_va = 0; });
    refused(EINVAL, "power of two", [](auto& a) { a.queue_size = 4096 + 256; });
    refused(EINVAL, "power of two", [](auto& a) { a.queue_size = 2048; });
    refused(EINVAL, "16384 bytes of the ring", [](auto& a) { a.queue_size = 16384; });
    refused(EINVAL, "4096 bytes of the read pointer", [](auto& a) { a.rptr_va += 8; });
    refused(EINVAL, "forbids writing", [&](auto& a) { a.rptr_va = a.queue_va; });
    refused(EINVAL, "8192 bytes, one page", [](auto& a) { a.wptr_va = a.queue_va; });
    refused(EINVAL, "not in GTT", [&](auto& a) { a.wptr_va = parts.video.address(); });
    refused(EFAULT, "no MQD", [](auto& a) { a.mqd = 0; });
    refused(EINVAL, "an MQD of 16", [](auto& a) { a.mqd_size = 16; });
    const umq::ComputeMqd wrong{.eop_va = parts.eop.address() + 4096};
    refused(EINVAL, "EOP buffer", [&](auto& a) { a.mqd = address_of(wrong); });
    const umq::ComputeMqd in_caches{.eop_va = parts.cached.address()};
    refused(EINVAL, "EOP buffer is not mapped uncached", [&](auto& a) { a.mqd = address_of(in_caches); });
    EXPECT_EQ(os.live().queues, 0u);

    EXPECT_EQ(call(os, *device, umq::kUserQueue, parts.arguments), 0) << os.refusal();
    refused(EBUSY, "is taken", [](auto&) {});
    const umq::UserQueue free{.op = umq::QueueOperation::free, .queue_id = 1};
    umq::UserQueue dirty = free;
    dirty.ip_type = umq::kIpCompute;
    EXPECT_EQ(call(os, *device, umq::kUserQueue, dirty), EINVAL);
    EXPECT_EQ(call(os, *device, umq::kGemClose, umq::GemClose{parts.doorbells.handle()}), EBUSY);
    EXPECT_EQ(call(os, *device, umq::kUserQueue, free), 0) << os.refusal();
    EXPECT_EQ(call(os, *device, umq::kUserQueue, free), ENOENT);
  }
  EXPECT_TRUE(os.live().none());
}

/// Of a buffer that is mapped, and of one that goes.
std::vector<std::string> mapped(const std::string& create, const std::string& flags, bool seen_by_host) {
  std::vector<std::string> calls{"GEM_CREATE " + create};
  if (create.starts_with("0x4")) calls.insert(calls.begin(), "INFO 0x19");  // how much video memory is left
  if (seen_by_host) calls.push_back("GEM_MMAP");
  for (const std::string& call : {std::string("SYNCOBJ_CREATE"), "GEM_VA map " + flags,
                                  std::string("SYNCOBJ_TIMELINE_WAIT"), std::string("SYNCOBJ_DESTROY")})
    calls.push_back(call);
  return calls;
}
const std::vector<std::string> kGone{"GEM_VA unmap", "GEM_CLOSE"};
template <class... Lists> std::vector<std::string> join(const Lists&... lists) {
  std::vector<std::string> all;
  (all.insert(all.end(), lists.begin(), lists.end()), ...);
  return all;
}

TEST(UmqModel, MakesEachCallThatAQueueNeeds) {
  using List = std::vector<std::string>;
  using Os = zrt::test::ListingOs<Umq>;
  Os os(kCard);
  const auto device = umq::Device<Os>::open(os);
  ASSERT_TRUE(device) << text(device);
  EXPECT_EQ(os.take(), (List{"VERSION", "INFO 0x2", "INFO 0x16", "INFO 0x24"}));
  // Queries HW_IP_INFO 2, DEV_INFO 0x16, UQ_FW_AREAS 0x24, MEMORY 0x19, VRAM_LOST_COUNTER 0x1f, GPUVM_FAULT 0x23; domains
  // GTT 2, VRAM 4, DOORBELL 0x40; flags CPU_ACCESS_REQUIRED 1 and NO_CPU_ACCESS 2; mapped READ 2, WRITE 4, EXECUTE 8,
  // memory type UC 0x80.
  const struct {
    Heap heap;
    GpuAccess access;
    std::string_view create, flags;
  } memories[] = {{Heap::device_local, GpuAccess::read_write, "0x4 0x2", "0x6"},
                  {Heap::bar, GpuAccess::execute, "0x4 0x1", "0xa"},
                  {Heap::bar, GpuAccess::read, "0x4 0x1", "0x2"},
                  {Heap::host_visible, GpuAccess::read, "0x2 0x0", "0x82"},
                  {Heap::host_visible, GpuAccess::read_write, "0x2 0x0", "0x86"}};
  for (const auto& m : memories) {
    ASSERT_TRUE(umq::Memory<Os>::allocate(*device, m.heap, 4096, m.access));
    EXPECT_EQ(os.take(),
              join(mapped(std::string(m.create), std::string(m.flags), m.heap != Heap::device_local), kGone));
  }
  const List read = mapped("0x2 0x0", "0x82", true), written = mapped("0x2 0x0", "0x86", true);
  {
    const auto transport = umq::Transport<Os>::open(*device, kSmallRing);
    ASSERT_TRUE(transport) << text(transport);
    // What was lost before, ring and write pointer, read pointer and fence, the EOP buffer past the caches, doorbells.
    EXPECT_EQ(os.take(), join(List{"INFO 0x1f", "INFO 0x23"}, read, read, written, written,
                              mapped("0x4 0x2", "0x86", false), List{"GEM_CREATE 0x40 0x0", "GEM_MMAP", "USERQ 0x1"}));
  }
  EXPECT_EQ(os.take(), join(List{"USERQ 0x2", "GEM_CLOSE"}, kGone, kGone, kGone, kGone, kGone));
}

TEST(UmqModel, MapsWhatSomebodyWaitedFor) {
  EmulatedOs os(kCard);
  {
    const auto device = UmqDevice::open(os);
    ASSERT_TRUE(device);
    auto place = Mapping<EmulatedOs>::make(os, {.bytes = 8192}, "addresses");
    const auto buffer = umq::GemBuffer<EmulatedOs>::create(*device, umq::gem_create(Heap::device_local, 8192));
    ASSERT_TRUE(place && buffer);
    EXPECT_FALSE(buffer->file_offset()) << "made without access of the host";
    umq::SyncobjCreate timeline;
    ASSERT_EQ(os.ioctl(device->render_file(), umq::kSyncobjCreate, &timeline), 0);
    umq::GemVa map{.handle = buffer->handle(),
                   .flags = umq::kVaRead,
                   .va_address = place->address(),
                   .map_size = 8192,
                   .vm_timeline_point = 3,
                   .vm_timeline_syncobj_out = timeline.handle};
    const auto refused = [&](int error, const auto& change) {
      umq::GemVa wrong = map;
      change(wrong);
      EXPECT_EQ(call(os, *device, umq::kGemVa, wrong), error) << os.refusal();
    };
    refused(ENOENT, [](auto& v) { v.handle = 99; });
    refused(EINVAL, [](auto& v) { v.flags = 1u << 20; });
    refused(EINVAL, [](auto& v) { v.flags |= 5u << 5; });
    refused(EINVAL, [](auto& v) { v.map_size = 4096; });
    refused(EINVAL, [](auto& v) { v.map_size = 0; });
    refused(EINVAL, [](auto& v) { v.va_address += 256; });
    refused(EINVAL, [](auto& v) { v.va_address = std::uint64_t{1} << 47; });
    refused(EINVAL, [](auto& v) { v.va_address = 4096; });
    refused(EINVAL, [](auto& v) { v.va_address += 4096; });
    refused(EINVAL, [](auto& v) { v.operation = umq::VaOperation::replace; });
    refused(EINVAL, [](auto& v) { v.vm_timeline_syncobj_out = 0; });
    refused(ENOENT, [](auto& v) { v.vm_timeline_syncobj_out = 77; });
    refused(ENOENT, [](auto& v) { v.operation = umq::VaOperation::unmap; });
    EXPECT_EQ(call(os, *device, umq::kGemVa, map), 0) << os.refusal();
    refused(EINVAL, [](auto&) {});
    EXPECT_EQ(call(os, *device, umq::kGemClose, umq::GemClose{buffer->handle()}), EBUSY) << "still mapped";

    std::uint64_t point = 4;
    umq::SyncobjTimelineWait wait{.handles = address_of(timeline.handle),
                                  .points = address_of(point),
                                  .timeout_nsec = std::int64_t{1} << 60,
                                  .count_handles = 1,
                                  .flags = umq::kWaitAll | umq::kWaitForSubmit};
    EXPECT_EQ(call(os, *device, umq::kSyncobjTimelineWait, wait), ETIME) << "nothing reaches point 4";
    point = 3;
    wait.timeout_nsec = 0;
    EXPECT_EQ(call(os, *device, umq::kSyncobjTimelineWait, wait), ETIME) << "a point of the clock that is past";
    wait.timeout_nsec = std::int64_t{1} << 60;
    EXPECT_EQ(call(os, *device, umq::kSyncobjTimelineWait, wait), 0) << os.refusal();
    map.operation = umq::VaOperation::unmap;
    EXPECT_EQ(call(os, *device, umq::kGemVa, map), 0) << os.refusal();
    EXPECT_EQ(call(os, *device, umq::kSyncobjDestroy, umq::SyncobjDestroy{timeline.handle}), 0);
    EXPECT_EQ(call(os, *device, umq::kSyncobjDestroy, umq::SyncobjDestroy{timeline.handle}), EINVAL);
  }
  EXPECT_TRUE(os.live().none()) << os.live().ranges << os.live().buffers;
}

/// The firmware's own size, where the kernel tells it; and what a queue of a smaller buffer gets.
TEST(UmqModel, WantsTheEopBufferOfTheFirmware) {
  for (const bool tells : {true, false}) {
    zrt::emulator::KernelVersion kernel = Umq::kernel;
    kernel.tells_eop_size = tells;
    EmulatedOs os({.kernel = kernel, .eop_bytes = 10000});
    const auto device = UmqDevice::open(os);
    ASSERT_TRUE(device) << text(device);
    EXPECT_EQ(device->eop_bytes(), tells ? 10000u : 4096u);
    EXPECT_EQ(zrt::test::UmqTransport::open(*device, kSmallRing).has_value(), tells) << os.refusal();
    EXPECT_EQ(os.refusal().find("10000 bytes of the EOP buffer") == std::string_view::npos, tells) << os.refusal();
  }
}

TEST(UmqModel, AnswersAsOlderKernelsDo) {
  const struct {
    zrt::emulator::Card card;
    Errc code;
    std::string_view error;
  } cases[] = {
      {{.kernel = zrt::emulator::kLinux6_8},
       Errc::unsupported_version,
       "amdgpu of renderD128 has version 3.56, 3.64 (Linux 6.16) or a later minor version expected"},
      {{.kernel = zrt::emulator::kLinux6_12}, Errc::unsupported_version, "amdgpu of renderD128 has version 3.59"},
      {{.user_queues = false, .kernel = Umq::kernel},
       Errc::unsupported_device,
       "renderD128 takes no user queues for compute: user_queue is not 1 or 2"},
      {{.render_minor = 192, .kernel = Umq::kernel},
       Errc::unsupported_device,
       "there is no render node: /dev/dri/renderD128 to 191"},
  };
  for (const auto& c : cases) {
    EmulatedOs os(c.card);
    const auto device = UmqDevice::open(os);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code(), c.code);
    EXPECT_TRUE(text(device).starts_with(c.error)) << text(device);
    EXPECT_TRUE(os.live().none());
    const auto file = static_cast<int>(os.open("/dev/dri/renderD128", true));
    umq::UserQueue queue;
    EXPECT_EQ(os.ioctl(file, umq::kUserQueue, &queue), file < 0 ? -EBADF : -EINVAL);
    // What such a kernel does not know of an answer stays as it was.
    umq::DeviceInfo info{.userq_ip_mask = 0x77};
    umq::Info ask{.return_pointer = address_of(info), .return_size = sizeof info};
    if (file < 0) continue;
    EXPECT_EQ(os.ioctl(file, umq::kInfo, &ask), 0);
    EXPECT_EQ(info.userq_ip_mask, c.card.kernel.user_queues ? 0u : 0x77u);
    EXPECT_EQ(os.ioctl(file, umq::kOldGemVa, &info), -EINVAL);
    EXPECT_EQ(os.close(file), 0);
  }
}

TEST(UmqModel, HasItsNodeWhereverOtherCardsWere) {
  for (const std::uint32_t minor : {128u, 131u, 191u}) {
    EmulatedOs os({.render_minor = minor, .kernel = Umq::kernel});
    const auto device = UmqDevice::open(os);
    ASSERT_TRUE(device) << text(device);
    EXPECT_EQ(device->render_minor(), minor);
  }
  // A node that does not open is told where no other does.
  EmulatedOs os({.render_minor = 129, .kernel = Umq::kernel});
  os.fail_call(1, EACCES);
  EXPECT_TRUE(UmqDevice::open(os)) << "the next one opens";
  os.fail_call(2, EACCES);
  EXPECT_EQ(text(UmqDevice::open(os)), "opening /dev/dri/renderD129 failed with EACCES");
}

TEST(UmqMemory, IsOutOfMemoryWhereTheDriverWouldTakeTheHosts) {
  EmulatedOs os({.video_bytes = 1 << 20, .large_bar = false, .kernel = Umq::kernel});
  const auto device = UmqDevice::open(os);
  ASSERT_TRUE(device);
  const auto allocate = [&](Heap heap, std::uint64_t bytes) {
    return UmqMemory::allocate(*device, heap, bytes, GpuAccess::read_write);
  };
  EXPECT_EQ(text(allocate(Heap::device_local, (1 << 20) + 1)),
            "video memory has 1048576 bytes left, 1052672 are allocated");
  EXPECT_EQ(allocate(Heap::bar, (1 << 18) + 1).error().code(), Errc::out_of_memory) << "a small BAR";
  const auto kept = allocate(Heap::bar, 1 << 18);
  EXPECT_TRUE(kept);
  EXPECT_EQ(*device->available_memory(), (1u << 20) - (1u << 18));
  EXPECT_EQ(*device->available_memory(Heap::bar), 0u);
  EXPECT_EQ(allocate(Heap::device_local, 0).error().code(), Errc::invalid_argument);
  EXPECT_EQ(allocate(Heap::device_local, ~std::uint64_t{0}).error().code(), Errc::size_overflow);
  // The driver itself falls back without a word.
  const std::uint64_t free = os.available_video();
  const auto spilled = umq::GemBuffer<EmulatedOs>::create(*device, umq::gem_create(Heap::device_local, 1 << 20));
  EXPECT_TRUE(spilled);
  EXPECT_EQ(os.available_video(), free);
}

template <class T> zrt::Result<void> without_value(const zrt::Result<T>& result) {
  if (!result) return zrt::pass(result);
  return {};
}

/// Opens a device by any way, submits through it, and closes it.
template <class... Forced> zrt::Result<Tier> chosen(EmulatedOs& os, Forced... forced) {
  const auto device = AnyDevice<EmulatedOs>::open(os, forced...);
  if (!device) return zrt::pass(device);
  auto transport = AnyTransport<EmulatedOs>::open(*device, kSmallRing);
  if (!transport) return zrt::pass(transport);
  const auto memory = AnyMemory<EmulatedOs>::allocate(*device, Heap::bar, 100, GpuAccess::read_write);
  if (!memory) return zrt::pass(memory);
  EXPECT_EQ(memory->bytes(), 4096u);
  EXPECT_EQ(memory->span().data(), reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(memory->address())));
  const std::array<std::uint32_t, 1> data{77};
  const auto fence = transport->submit(words_of(WriteData{memory->address(), data}));
  if (!fence) return zrt::pass(fence);
  if (auto r = transport->wait(*fence, 1'000'000'000); !r) return zrt::pass(r);
  EXPECT_EQ(zrt::read_little<std::uint32_t>(memory->span().data()), 77u);
  EXPECT_EQ(transport->indirect_buffer(0x1000, 4).inherit_vmid, device->tier() == Tier::user_queue);
  return device->tier();
}

TEST(Tier, IsTheFirstThatWorks) {
  const struct {
    zrt::emulator::Card card;
    Tier tier;
  } cases[] = {{{.kernel = zrt::emulator::kLinux6_8}, Tier::kfd},
               {{.kernel = zrt::emulator::kLinux6_12}, Tier::kfd},
               {{.kernel = Umq::kernel}, Tier::user_queue},
               {{.user_queues = false, .kernel = Umq::kernel}, Tier::kfd},
               {{.has_kfd = false, .kernel = Umq::kernel}, Tier::user_queue}};
  for (const auto& c : cases) {
    EmulatedOs os(c.card);
    const auto tier = chosen(os);
    ASSERT_TRUE(tier) << text(tier) << os.refusal();
    EXPECT_EQ(*tier, c.tier) << c.card.kernel.name;
    EXPECT_TRUE(os.live().none());
  }
  EmulatedOs os(kCard);
  EXPECT_EQ(*chosen(os, Tier::kfd), Tier::kfd) << "forced";
}

TEST(Tier, ErrorSaysWhatFailedOnEachWay) {
  EmulatedOs os({.has_kfd = false, .kernel = zrt::emulator::kLinux6_12});
  EXPECT_EQ(text(chosen(os)),
            "user queue: amdgpu of renderD128 has version 3.59, 3.64 (Linux 6.16) or a later minor version expected; "
            "/dev/kfd: opening /dev/kfd failed with ENOENT; cpu and reference need no card");
  EXPECT_EQ(chosen(os).error().code(), Errc::unsupported_device);
  EXPECT_EQ(text(chosen(os, Tier::kfd)),
            "/dev/kfd: opening /dev/kfd failed with ENOENT; cpu and reference need no card");
  EXPECT_TRUE(os.live().none());
  // A queue that is made but runs nothing is no way.
  EmulatedOs fails(kCard);
  fails.fail_call(40, EIO);
  const auto tier = chosen(fails);
  ASSERT_TRUE(tier) << text(tier);
  EXPECT_EQ(*tier, Tier::kfd) << "the other one is tried";
}

/// Every error that a way can end with, whichever call fails with whichever errno, whatever the machine lacks: the
/// longest of one way beside the longest of the other is whole.
TEST(Tier, ErrorIsWholeWithTheLongestCauses) {
  std::array<zrt::Error, kTiers.size()> longest{};
  const auto hear = [&](std::size_t i, EmulatedOs& os) {
    const auto device = i == 0 ? without_value(try_tier<zrt::test::UmqTransport>(os))
                               : without_value(try_tier<zrt::test::KfdTransport>(os));
    if (!device && device.error().text().size() > longest[i].text().size()) longest[i] = device.error();
    return device.has_value();
  };
  for (std::size_t i = 0; i < kTiers.size(); ++i) {
    const zrt::emulator::KernelVersion kernel = i == 0 ? Umq::kernel : Kfd::kernel;
    const zrt::Span<const IoctlCall> calls = i == 0 ? zrt::Span<const IoctlCall>(umq::kCalls) : kfd::kCalls;
    std::uint64_t made = 0;
    {
      EmulatedOs whole({.kernel = kernel});
      ASSERT_TRUE(hear(i, whole));
      made = whole.calls();
    }
    for (const SystemError& known : kSystemErrors) {
      for (std::uint64_t number = 1; number <= made; ++number) {
        EmulatedOs os({.kernel = kernel});
        os.fail_call(number, known.number);
        hear(i, os);
      }
      for (const IoctlCall& one : calls) {
        EmulatedOs os({.kernel = kernel});
        os.fail_request(one.request, known.number);
        hear(i, os);
        os.fail_request(0, 0);
      }
    }
    for (const zrt::emulator::Card& card : {zrt::emulator::Card{.video_bytes = 1 << 16, .kernel = kernel},
                                            zrt::emulator::Card{.has_kfd = false, .kernel = kernel},
                                            zrt::emulator::Card{.user_queues = false, .kernel = kernel},
                                            zrt::emulator::Card{.kernel = zrt::emulator::kLinux6_8},
                                            zrt::emulator::Card{.kernel = {.name = "old", .minor = 13}}}) {
      EmulatedOs os(card);
      hear(i, os);
    }
    EmulatedOs loses({.kernel = kernel});
    loses.lose_every_fence();
    EXPECT_FALSE(hear(i, loses));
  }
  // What no model ends with, in the words of Losses and find_node().
  const zrt::Error touched = zrt::Error::of(
      Errc::spec_violation,
      "the GPU touched memory at 0x7fffffff1000 that it may not write (status 0x00040010); fence 25 is lost");
  const zrt::Error other =
      zrt::Error::of(Errc::unsupported_device,
                     "no GPU of RDNA3 or RDNA4 in the topology; there is one with gfx_target_version 100300");
  if (touched.text().size() > longest[0].text().size()) longest[0] = touched;
  if (other.text().size() > longest[1].text().size()) longest[1] = other;
  TierFailures failures;
  std::string expected;
  for (std::size_t i = 0; i < kTiers.size(); ++i) {
    failures.add(kTiers[i], longest[i]);
    expected += std::string(name(kTiers[i])) + ": " + std::string(longest[i].text()) + "; ";
  }
  EXPECT_EQ(failures.error().text(), expected + "cpu and reference need no card");
  EXPECT_GT(expected.size(), 180u);

  // Longer ones each get a share, and say so.
  const zrt::Error endless = zrt::Error::of(Errc::limit_exceeded, std::string_view(std::string(240, 'x')));
  TierFailures too_long;
  for (const Tier tier : kTiers) too_long.add(tier, endless);
  const std::string text(too_long.error().text());
  EXPECT_TRUE(text.ends_with("xxx...; cpu and reference need no card")) << text;
  EXPECT_NE(text.find("xxx...; /dev/kfd: xxx"), std::string::npos) << text;
}

}  // namespace
}  // namespace umq_model_test
