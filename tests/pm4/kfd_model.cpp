// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kfd_model.cpp: what the modelled kernel refuses, each with its errno and its reason.
// test-set: smoke
#include <gtest/gtest.h>

#include <algorithm>
#include <pm4/listing_os.hpp>

namespace kfd_model_test {
namespace {

using namespace zrt::pm4;
using namespace zrt::test;
using kfd::GpuAccess;
using kfd::Heap;
using zrt::Errc;
using zrt::emulator::Card;

/// A queue's buffers, and the arguments that make it.
struct Parts {
  KfdDevice device;
  KfdMemory ring, pointers, eop, save;
  kfd::CreateQueue arguments{};

  static zrt::Result<Parts> make(EmulatedOs& os) {
    auto device = KfdDevice::open(os);
    if (!device) return zrt::pass(device);
    return Parts{std::move(*device), {}, {}, {}, {}};
  }
  void fill() {
    const auto area = kfd::context_save(device.node().queue());
    ring = *KfdMemory::allocate(device, Heap::host_visible, 4096, GpuAccess::read);
    pointers = *KfdMemory::allocate(device, Heap::host_visible, 4096, GpuAccess::read_write);
    eop = *KfdMemory::allocate(device, Heap::device_local, 4096, GpuAccess::read_write);
    save = *KfdMemory::allocate(device, Heap::device_local, area->mapping_bytes, GpuAccess::read_write);
    arguments = {.ring_base_address = ring.address(),
                 .write_pointer_address = pointers.address() + 64,
                 .read_pointer_address = pointers.address(),
                 .ring_size = 4096,
                 .gpu_id = device.node().gpu_id,
                 .queue_percentage = 100,
                 .queue_priority = 7,
                 .eop_buffer_address = eop.address(),
                 .eop_buffer_size = 4096,
                 .ctx_save_restore_address = save.address(),
                 .ctx_save_restore_size = area->save_bytes,
                 .ctl_stack_size = area->ctl_stack_bytes};
  }
  ~Parts() {
    eop = {};
    save = {};
    pointers = {};
    ring = {};
  }
  Parts(KfdDevice d, KfdMemory a, KfdMemory b, KfdMemory c, KfdMemory e)
      : device(std::move(d)), ring(std::move(a)), pointers(std::move(b)), eop(std::move(c)), save(std::move(e)) {}
  Parts(Parts&&) = default;
};

template <class Arguments> int call(EmulatedOs& os, const KfdDevice& device, std::uint32_t request, Arguments a) {
  return static_cast<int>(-os.ioctl(device.calls_file(), request, &a));
}

TEST(KfdModel, RefusesAQueueWithOneFieldWrong) {
  EmulatedOs os;
  auto parts = Parts::make(os);
  ASSERT_TRUE(parts) << text(parts);
  parts->fill();
  const auto refused = [&](std::string_view reason, const auto& change) {
    kfd::CreateQueue arguments = parts->arguments;
    change(arguments);
    EXPECT_EQ(call(os, parts->device, kfd::kCreateQueue, arguments), EINVAL) << reason;
    EXPECT_NE(os.refusal().find(reason), std::string_view::npos) << reason << ": " << os.refusal();
  };
  refused("there is no GPU", [](auto& a) { ++a.gpu_id; });
  refused("packets need 0", [](auto& a) { a.queue_type = kfd::QueueType::compute_aql; });
  refused("percentage", [](auto& a) { a.queue_percentage = 101; });
  refused("percentage", [](auto& a) { a.queue_percentage = 0; });
  refused("one address", [](auto& a) { a.read_pointer_address = a.write_pointer_address; });
  refused("priority", [](auto& a) { a.queue_priority = 16; });
  refused("power of two", [](auto& a) { a.ring_size = 4000; });
  refused("mapping of the ring has 4096 bytes, 8192", [](auto& a) { a.ring_size = 8192; });
  refused("mapping of the ring has 4096 bytes, 2048", [](auto& a) { a.ring_size = 2048; });
  refused("begins at the ring", [](auto& a) { a.ring_base_address += 256; });
  refused("page of the write pointer", [&](auto& a) { a.write_pointer_address = parts->save.address() + 4096; });
  refused("page of the read pointer", [&](auto& a) { a.read_pointer_address = 8; });
  refused("forbids writing", [&](auto& a) { a.read_pointer_address = parts->ring.address(); });
  refused("multiple of 8", [](auto& a) { a.write_pointer_address += 4; });
  refused("EOP buffer of 8192", [](auto& a) { a.eop_buffer_size = 8192; });
  refused("the EOP buffer has", [&](auto& a) { a.eop_buffer_address = parts->save.address(); });
  refused("save area of", [](auto& a) { a.ctx_save_restore_size += 4096; });
  refused("save area of", [](auto& a) { a.ctl_stack_size += 4096; });
  refused("the save area has", [&](auto& a) { a.ctx_save_restore_address = parts->eop.address(); });
  refused("are not 0", [](auto& a) { a.pad = 1; });
  refused("are not 0", [](auto& a) { a.doorbell_offset = 8; });
  EXPECT_EQ(os.live().queues, 0u);
  EXPECT_EQ(call(os, parts->device, kfd::kCreateQueue, parts->arguments), 0) << os.refusal();
  EXPECT_EQ(call(os, parts->device, kfd::kCreateQueue, parts->arguments), EBUSY) << "two queues in one ring";
  EXPECT_EQ(call(os, parts->device, kfd::kDestroyQueue, kfd::DestroyQueue{.queue_id = 1}), EINVAL);
  EXPECT_EQ(call(os, parts->device, kfd::kDestroyQueue, kfd::DestroyQueue{}), 0);
}

TEST(KfdModel, ComparesSizesSinceLinux6_12) {
  // The save area without the debugger's part, which kernels before took.
  for (const auto& version : {zrt::emulator::kLinux6_8, zrt::emulator::kLinux6_12}) {
    EmulatedOs os({.compute_units = 64, .kernel = version});
    auto parts = Parts::make(os);
    ASSERT_TRUE(parts);
    parts->fill();
    EXPECT_EQ(parts->save.bytes(), 0x1d57000u);
    const auto larger = KfdMemory::allocate(parts->device, Heap::host_visible, 8192, GpuAccess::read_write);
    ASSERT_TRUE(larger);
    kfd::CreateQueue arguments = parts->arguments;
    arguments.write_pointer_address = larger->address();
    EXPECT_EQ(call(os, parts->device, kfd::kCreateQueue, arguments), version.compares_sizes ? EINVAL : 0);
    EXPECT_EQ(call(os, parts->device, kfd::kDestroyQueue, kfd::DestroyQueue{}), version.compares_sizes ? EINVAL : 0);
  }
}

/// Where the topology tells of a save area, that is the one: a kernel may count otherwise than kernels did.
TEST(KfdModel, TakesTheSaveAreaThatTheTopologyTells) {
  for (const bool tells : {true, false}) {
    zrt::emulator::KernelVersion kernel = zrt::emulator::kLinux6_16;
    kernel.tells_save_sizes = tells;
    EmulatedOs os({.kernel = kernel,
                   .other_save_area = {.ctl_stack_bytes = 0x2000, .save_bytes = 0x1d7000, .mapping_bytes = 0x1d8000}});
    const auto device = KfdDevice::open(os);
    ASSERT_TRUE(device);
    const auto transport = KfdTransport::open(*device, kSmallRing);
    EXPECT_EQ(transport.has_value(), tells) << os.refusal();
    EXPECT_EQ(os.refusal().find("save area of 1921024 bytes") == std::string_view::npos, tells) << os.refusal();
  }
}

using Listing = zrt::test::ListingOs<zrt::test::Kfd>;

/// Of gfx1151 a kernel that tells no sizes wants one of two; no other card is tried twice.
TEST(KfdModel, TriesTheOtherSaveAreaOfGfx1151Once) {
  const struct {
    const TargetFacts* target;
    zrt::emulator::KernelVersion kernel;
    std::uint32_t units, areas;
    bool opens;
  } cases[] = {{&kTargetFacts<Gfx1151>, zrt::emulator::kLinux6_8, 40, 1, true},
               {&kTargetFacts<Gfx1151>, zrt::emulator::kLinux6_12, 40, 2, true},
               {&kTargetFacts<Gfx1151>, zrt::emulator::kLinux6_17, 4, 1, true},
               {&kTargetFacts<Gfx1151>, zrt::emulator::kLinux6_17, 40, 1, true},
               {&kTargetFacts<Gfx1151>, zrt::emulator::kLinux6_16, 40, 1, true},
               {&kTargetFacts<Gfx1151>, zrt::emulator::kLinux6_12, 41, 2, false},
               {&kTargetFacts<Gfx1100>, zrt::emulator::kLinux6_12, 41, 1, false}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.target->name) + ' ' + std::string(c.kernel.name) + ' ' + std::to_string(c.units));
    Listing os({.target = c.target, .compute_units = c.units, .kernel = c.kernel});
    {
      const auto device = kfd::Device<Listing>::open(os);
      ASSERT_TRUE(device);
      const auto transport = kfd::Transport<Listing>::open(*device, kSmallRing);
      EXPECT_EQ(transport.has_value(), c.opens) << os.refusal();
    }
    EXPECT_EQ(std::ranges::count(os.calls, "CREATE_QUEUE"), c.areas) << os.refusal();
    EXPECT_TRUE(os.live().none());
  }
}

TEST(KfdModel, RefusesMemoryThatTheModelWouldCacheOtherwise) {
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  const std::uint64_t at = static_cast<std::uint64_t>(os.map({.bytes = 4096}));
  constexpr std::uint32_t past_caches = kfd::kCoherent | kfd::kUncached;
  const struct {
    std::uint32_t flags;
    std::string_view reason;
  } cases[] = {{kfd::kGtt, "GTT is COHERENT and UNCACHED"},
               {kfd::kGtt | kfd::kCoherent, "GTT is COHERENT and UNCACHED"},
               {kfd::kGtt | kfd::kUncached, "GTT is COHERENT and UNCACHED"},
               {kfd::kVram | kfd::kUncached, "VRAM that is COHERENT or UNCACHED"},
               {kfd::kGtt | past_caches | kfd::kAqlQueueMemory, "AQL_QUEUE_MEM are not modelled"},
               {kfd::kVram | kfd::kExtCoherent, "EXT_COHERENT"},
               {kfd::kVram | kfd::kContiguous, "CONTIGUOUS"}};
  for (const auto& c : cases) {
    const kfd::AllocMemory memory{
        .va_addr = at, .size = 4096, .gpu_id = device->node().gpu_id, .flags = c.flags | kfd::kWritable};
    EXPECT_EQ(call(os, *device, kfd::kAllocMemory, memory), EINVAL);
    EXPECT_NE(os.refusal().find(c.reason), std::string_view::npos) << os.refusal();
  }
  EXPECT_EQ(os.unmap(at, 4096), 0);
}

TEST(KfdModel, RefusesMemoryAsTheKernelDoes) {
  EmulatedOs os({.video_bytes = 1 << 20, .large_bar = false});
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  const std::uint64_t all = *device->available_memory();
  EXPECT_EQ(all, 1u << 20);
  const auto allocate = [&](Heap heap, std::uint64_t bytes) {
    return KfdMemory::allocate(*device, heap, bytes, GpuAccess::read_write);
  };
  EXPECT_EQ(text(allocate(Heap::bar, 1)), "ALLOC_MEMORY_OF_GPU of /dev/kfd failed with EINVAL");
  EXPECT_NE(os.refusal().find("large BAR"), std::string_view::npos);
  EXPECT_EQ(allocate(Heap::device_local, all + 1).error().code(), Errc::out_of_memory);
  EXPECT_EQ(allocate(Heap::device_local, 0).error().code(), Errc::invalid_argument);
  EXPECT_EQ(allocate(Heap::device_local, ~std::uint64_t{0}).error().code(), Errc::size_overflow);
  {
    const auto memory = allocate(Heap::device_local, 4097);
    ASSERT_TRUE(memory);
    EXPECT_EQ(*device->available_memory(), all - 8192);
    EXPECT_TRUE(memory->span().empty());
    constexpr std::uint64_t handle = 1;
    EXPECT_EQ(call(os, *device, kfd::kFreeMemory, kfd::FreeMemory{handle}), EBUSY) << "still mapped";
    EXPECT_EQ(call(os, *device, kfd::kFreeMemory, kfd::FreeMemory{handle + 1}), EINVAL);
    EXPECT_EQ(os.map({.address = memory->address(),
                      .bytes = 8192,
                      .protection = Protection::read_write,
                      .file = device->render_file(),
                      .offset = handle * 4096}),
              -EPERM)
        << os.refusal();
    EXPECT_EQ(os.unmap(memory->address(), 8192), -EINVAL) << "memory still lives there";
    std::uint32_t id = device->node().gpu_id;
    kfd::MapMemory map{.handle = handle, .device_ids_array_ptr = reinterpret_cast<std::uintptr_t>(&id), .n_devices = 1};
    EXPECT_EQ(call(os, *device, kfd::kMapMemory, map), 0) << "mapped twice is mapped";
    map.n_devices = 2;
    EXPECT_EQ(call(os, *device, kfd::kMapMemory, map), EINVAL);
    map.n_devices = 1;
    ++id;
    EXPECT_EQ(call(os, *device, kfd::kMapMemory, map), EINVAL);
    EXPECT_EQ(call(os, *device, kfd::kUnmapMemory, map), EINVAL);
  }
  EXPECT_EQ(*device->available_memory(), all);
}

TEST(KfdModel, KeepsTheAddressSpaceAndTheEventPageUntilTheProcessEnds) {
  EmulatedOs os;
  {
    const auto device = KfdDevice::open(os);
    ASSERT_TRUE(device);
    kfd::AllocMemory page{.va_addr = static_cast<std::uint64_t>(os.map({.bytes = kfd::kEventPageBytes})),
                          .size = kfd::kEventPageBytes,
                          .gpu_id = device->node().gpu_id,
                          .flags = kfd::kGtt | kfd::kCoherent | kfd::kUncached | kfd::kWritable};
    ASSERT_EQ(os.ioctl(device->calls_file(), kfd::kAllocMemory, &page), 0) << os.refusal();
    EXPECT_EQ(call(os, *device, kfd::kCreateEvent, kfd::CreateEvent{}), EINVAL) << "no page yet";
    kfd::CreateEvent event{.event_page_offset = page.handle};
    ASSERT_EQ(os.ioctl(device->calls_file(), kfd::kCreateEvent, &event), 0) << os.refusal();
    EXPECT_EQ(call(os, *device, kfd::kCreateEvent, kfd::CreateEvent{.event_page_offset = page.handle}), EINVAL);
    EXPECT_EQ(call(os, *device, kfd::kFreeMemory, kfd::FreeMemory{page.handle}), EPERM);
    // Signals are waited for once they are set.
    kfd::EventData data{.event_id = event.event_id};
    kfd::WaitEvents wait{.events_ptr = reinterpret_cast<std::uintptr_t>(&data), .num_events = 1};
    ASSERT_EQ(os.ioctl(device->calls_file(), kfd::kWaitEvents, &wait), 0);
    EXPECT_EQ(wait.wait_result, kfd::WaitResult::timeout);
    EXPECT_EQ(call(os, *device, kfd::kSetEvent, kfd::EventById{event.event_id}), 0);
    ASSERT_EQ(os.ioctl(device->calls_file(), kfd::kWaitEvents, &wait), 0);
    EXPECT_EQ(wait.wait_result, kfd::WaitResult::complete);
    EXPECT_EQ(call(os, *device, kfd::kResetEvent, kfd::EventById{event.event_id}), 0);
    // The GPU sets them by an interrupt, after it wrote their slot.
    std::uint32_t id = device->node().gpu_id;
    const kfd::MapMemory map{
        .handle = page.handle, .device_ids_array_ptr = reinterpret_cast<std::uintptr_t>(&id), .n_devices = 1};
    EXPECT_EQ(call(os, *device, kfd::kMapMemory, map), 0);
    os.event_page().address = page.va_addr;
    auto transport = KfdTransport::open(*device, kSmallRing);
    ASSERT_TRUE(transport) << text(transport);
    const auto wait_once = [&] {
      wait.wait_result = kfd::WaitResult::failed;
      EXPECT_EQ(os.ioctl(device->calls_file(), kfd::kWaitEvents, &wait), 0);
      return wait.wait_result;
    };
    const auto release = [&](bool interrupt) {
      const auto fence = transport->submit(
          words_of(ReleaseMem{.address = page.va_addr + event.event_slot_index * 8,
                              .value = event.event_id,
                              .interrupt = interrupt ? ReleaseInterrupt::after_write : ReleaseInterrupt::none,
                              .context = event.event_id}));
      EXPECT_TRUE(fence && transport->wait(*fence, 1'000'000));
    };
    EXPECT_EQ(wait_once(), kfd::WaitResult::timeout);
    release(false);
    EXPECT_EQ(wait_once(), kfd::WaitResult::timeout);
    release(true);
    EXPECT_EQ(wait_once(), kfd::WaitResult::complete);
    EXPECT_EQ(call(os, *device, kfd::kResetEvent, kfd::EventById{77}), EINVAL);
    EXPECT_EQ(call(os, *device, kfd::kDestroyEvent, kfd::EventById{event.event_id}), 0);
  }
  // The process keeps its address space, and the file that it came with: another file of the same card is refused.
  const auto again = KfdDevice::open(os);
  ASSERT_TRUE(again) << text(again);
  const auto render = static_cast<int>(os.open("/dev/dri/renderD128", true));
  ASSERT_GT(render, 0);
  kfd::AcquireVm other{.drm_fd = static_cast<std::uint32_t>(render), .gpu_id = again->node().gpu_id};
  EXPECT_EQ(os.ioctl(again->calls_file(), kfd::kAcquireVm, &other), -EBUSY);
  EXPECT_EQ(os.close(render), 0);
}

TEST(KfdModel, StopsAQueueThatACardWouldHangOn) {
  EmulatedOs os;
  const auto device = KfdDevice::open(os);
  ASSERT_TRUE(device);
  const auto stopped = [&](const auto& spoil) {
    auto transport = KfdTransport::open(*device, kSmallRing);
    EXPECT_TRUE(transport) << text(transport);
    spoil(*transport);
    const auto fence = transport->submit(words_of(PartialFlush{}));
    EXPECT_TRUE(fence);
    EXPECT_FALSE(transport->wait(*fence, 100'000));
    return std::string(os.queues().stopped());
  };
  // An unknown packet in the ring; a ring that was taken away.
  EXPECT_NE(stopped([](KfdTransport& t) { (void)t.submit(std::array{0xc000ee00u, 0u}); }).find("unknown_opcode"),
            std::string::npos);
  std::uint32_t id = device->node().gpu_id;
  const auto taken = stopped([&](KfdTransport&) {
    // The ring is the first of the last six allocations.
    for (std::uint64_t handle = 1; handle < 13; ++handle) {
      kfd::MapMemory map{
          .handle = handle, .device_ids_array_ptr = reinterpret_cast<std::uintptr_t>(&id), .n_devices = 1};
      (void)os.ioctl(device->calls_file(), kfd::kUnmapMemory, &map);
    }
  });
  EXPECT_NE(taken.find("was taken away"), std::string::npos) << taken;
}

TEST(KfdModel, ComparesTheDoorbellWithTheWritePointer) {
  const struct {
    std::uint64_t pointer, doorbell;
    std::string_view reason;
  } cases[] = {{4, 4, ""}, {0, 4, "the doorbell says 4"}, {2000, 2000, "in a ring of 1024"}};
  for (const auto& c : cases) {
    EmulatedOs os;
    auto parts = Parts::make(os);
    ASSERT_TRUE(parts);
    parts->fill();
    kfd::CreateQueue made = parts->arguments;
    ASSERT_EQ(os.ioctl(parts->device.calls_file(), kfd::kCreateQueue, &made), 0) << os.refusal();
    const std::uint64_t in_page = made.doorbell_offset & 0x1fff;
    MapRequest doorbells{.bytes = 0x2000,
                         .protection = Protection::read_write,
                         .file = parts->device.calls_file(),
                         .offset = made.doorbell_offset - in_page};
    const auto page = static_cast<std::uint64_t>(os.map(doorbells));
    for (std::size_t at = 0; at < 4096; at += 4) zrt::write_little(parts->ring.span().data() + at, kNopWord);
    zrt::write_little(parts->pointers.span().data() + 64, c.pointer);
    *reinterpret_cast<volatile std::uint64_t*>(page + in_page) = c.doorbell;
    EXPECT_EQ(os.queues().counters().packets, 0u);
    os.pause();
    EXPECT_EQ(os.queues().counters().packets, c.reason.empty() ? 4u : 0u);
    EXPECT_EQ(os.queues().stopped().empty(), c.reason.empty());
    EXPECT_NE(os.queues().stopped().find(c.reason), std::string_view::npos) << os.queues().stopped();
    EXPECT_EQ(os.unmap(page, 0x1000), -EINVAL);
    EXPECT_EQ(os.unmap(page, 0x2000), 0);
    EXPECT_EQ(call(os, parts->device, kfd::kDestroyQueue, kfd::DestroyQueue{.queue_id = made.queue_id}), 0);
    doorbells.bytes = 4096;
    EXPECT_EQ(os.map(doorbells), -EINVAL);
  }
}

TEST(KfdModel, KnowsItsCallsAlone) {
  EmulatedOs os({.kernel = {.name = "old", .minor = 13}});
  EXPECT_EQ(KfdDevice::open(os).error().code(), Errc::unsupported_version);
  EXPECT_TRUE(os.live().none());
  const auto file = static_cast<int>(os.open("/dev/kfd", true));
  std::uint64_t room[16]{};
  EXPECT_EQ(os.ioctl(file, kfd::kGetVersion + 1, room), -ENOTTY);
  EXPECT_EQ(os.ioctl(file, kfd::kGetVersion, nullptr), -EFAULT);
  EXPECT_EQ(os.ioctl(file + 9, kfd::kGetVersion, room), -EBADF);
  EXPECT_EQ(os.ioctl(file, kfd::kAllocMemory, room), -ESRCH) << "no address space yet";
  kfd::GetProcessApertures apertures;
  ASSERT_EQ(os.ioctl(file, kfd::kGetProcessApertures, &apertures), 0);
  EXPECT_EQ(apertures.num_of_nodes, 1u);
  EXPECT_EQ(os.ioctl(file, kfd::kGetProcessApertures, &apertures), -EFAULT) << "no room";
  kfd::ProcessApertures one;
  apertures.apertures_ptr = reinterpret_cast<std::uintptr_t>(&one);
  ASSERT_EQ(os.ioctl(file, kfd::kGetProcessApertures, &apertures), 0);
  EXPECT_EQ(one.gpu_id, Card{}.gpu_id);
  EXPECT_LT(one.gpuvm_base, one.gpuvm_limit);
  kfd::RuntimeEnable runtime{.mode_mask = 2};
  EXPECT_EQ(os.ioctl(file, kfd::kRuntimeEnable, &runtime), -EINVAL);
  kfd::UpdateQueue update;
  EXPECT_EQ(os.ioctl(file, kfd::kUpdateQueue, &update), -ENOTTY) << "not modelled";
  EXPECT_EQ(os.open("/dev/dri/renderD129", true), -ENOENT);
  EXPECT_EQ(os.close(file), 0);
  EXPECT_EQ(os.close(file), -EBADF);
}

TEST(KfdModel, MakesEachCallThatAQueueNeeds) {
  using List = std::vector<std::string>;
  Listing os;
  auto device = kfd::Device<Listing>::open(os);
  ASSERT_TRUE(device);
  EXPECT_EQ(os.take(), (List{"GET_VERSION", "ACQUIRE_VM", "RUNTIME_ENABLE"}));
  using Memory = kfd::Memory<Listing>;
  // VRAM 1, GTT 2, COHERENT and UNCACHED 0x06000000, NO_SUBSTITUTE 0x10000000, PUBLIC 0x20000000, EXECUTABLE 0x40000000,
  // WRITABLE 0x80000000.
  const struct {
    Heap heap;
    GpuAccess access;
    std::string_view flags;
  } memories[] = {{Heap::device_local, GpuAccess::read_write, "0x90000001"},
                  {Heap::bar, GpuAccess::execute, "0x70000001"},
                  {Heap::bar, GpuAccess::read, "0x30000001"},
                  {Heap::host_visible, GpuAccess::read, "0x16000002"},
                  {Heap::host_visible, GpuAccess::read_write, "0x96000002"}};
  for (const auto& [heap, access, flags] : memories) {
    ASSERT_TRUE(Memory::allocate(*device, heap, 4096, access));
    EXPECT_EQ(os.take(), (List{"ALLOC_MEMORY_OF_GPU " + std::string(flags), "MAP_MEMORY_TO_GPU",
                               "UNMAP_MEMORY_FROM_GPU", "FREE_MEMORY_OF_GPU"}));
  }
  List opening, closing;
  const auto memory = [&](const std::string& flags) {
    for (const std::string& call : {"ALLOC_MEMORY_OF_GPU " + flags, std::string("MAP_MEMORY_TO_GPU")})
      opening.push_back(call);
  };
  // Ring and write pointer, read pointer and fence, EOP buffer, event page.
  for (const char* const flags : {"0x16000002", "0x16000002", "0x96000002", "0x96000002", "0x90000001", "0x96000002"})
    memory(flags);
  opening.insert(opening.end(), 3, "CREATE_EVENT");
  memory("0x90000001");  // the save area
  opening.push_back("CREATE_QUEUE");
  closing = {"DESTROY_QUEUE"};
  for (int i = 0; i < 6; ++i) closing.insert(closing.end(), {"UNMAP_MEMORY_FROM_GPU", "FREE_MEMORY_OF_GPU"});
  closing.insert(closing.end(), 3, "DESTROY_EVENT");
  {
    const auto transport = kfd::Transport<Listing>::open(*device, kSmallRing);
    ASSERT_TRUE(transport) << text(transport);
    EXPECT_EQ(os.take(), opening);
  }
  EXPECT_EQ(os.take(), closing);
}

TEST(KfdTopology, IsReadAsItIsWritten) {
  const Card card{.target = &kTargetFacts<Gfx1100>, .compute_units = 96, .kernel = zrt::emulator::kLinux6_16};
  EmulatedOs os(card);
  const auto node = kfd::find_node(os);
  ASSERT_TRUE(node) << text(node);
  EXPECT_EQ(node->index, 1u);
  EXPECT_EQ(node->gpu_id, card.gpu_id);
  EXPECT_EQ(node->simd_count, 192u);
  EXPECT_EQ(node->gfx_target_version, 110000u);
  EXPECT_EQ(node->drm_render_minor, 128u);
  EXPECT_EQ(node->cwsr_size, 0x2bea000u);
  EXPECT_EQ(node->ctl_stack_size, 0xa000u);
  EXPECT_TRUE(os.live().none());
  EmulatedOs second({.beside_closed = true});
  const auto behind = kfd::find_node(second);
  ASSERT_TRUE(behind) << text(behind) << ": a GPU of somebody else's hides none";
  EXPECT_EQ(behind->index, 2u);
  EXPECT_NE(second.refusal().find("may not use the GPU"), std::string_view::npos) << second.refusal();
  EXPECT_TRUE(second.live().none());
  kfd::GpuNode parsed;
  EXPECT_TRUE(kfd::parse_properties("simd_count 4294967295\n\nunknown x\nnum_xcc 2", parsed));
  EXPECT_EQ(parsed.simd_count, 0xffffffffu);
  EXPECT_EQ(parsed.num_xcc, 2u);
  for (const std::string_view bad : {"simd_count", "simd_count ", "simd_count 4294967296", "simd_count -1",
                                     "num_xcc 18446744073709551616", "num_xcc 1x"})
    EXPECT_FALSE(kfd::parse_properties(bad, parsed)) << bad;
}

}  // namespace
}  // namespace kfd_model_test
