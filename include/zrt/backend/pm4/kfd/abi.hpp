// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/kfd/abi.hpp: the calls of /dev/kfd that a queue needs, with their arguments as the kernel lays them
// out.
#pragma once

#include <zrt/backend/pm4/ioctl.hpp>

#include <array>

/// AMD's kernel driver for compute. Field names and numbers are those of linux/kfd_ioctl.h; arguments that a program
/// does not set are 0.
namespace zrt::inline ZRT_ABI::pm4::kfd {

struct GetVersion {
  std::uint32_t major_version = 0;
  std::uint32_t minor_version = 0;
};
static_assert(sizeof(GetVersion) == 8 && offsetof(GetVersion, minor_version) == 4);

enum class QueueType : std::uint32_t {
  compute = 0,      ///< packets
  sdma = 1,         ///< copies
  compute_aql = 2,  ///< 64-byte AQL packets: not for a ring of PM4
};

/// Since version 1.17; before it the last two fields are absent.
struct CreateQueue {
  std::uint64_t ring_base_address = 0;
  std::uint64_t write_pointer_address = 0;
  std::uint64_t read_pointer_address = 0;
  std::uint64_t doorbell_offset = 0;  ///< out
  std::uint32_t ring_size = 0;        ///< bytes, a power of two
  std::uint32_t gpu_id = 0;
  QueueType queue_type = QueueType::compute;
  std::uint32_t queue_percentage = 0;  ///< at most 100; above bit 8 the number of the die
  std::uint32_t queue_priority = 0;    ///< 0 to 15
  std::uint32_t queue_id = 0;          ///< out
  std::uint64_t eop_buffer_address = 0;
  std::uint64_t eop_buffer_size = 0;
  std::uint64_t ctx_save_restore_address = 0;
  std::uint32_t ctx_save_restore_size = 0;
  std::uint32_t ctl_stack_size = 0;
  std::uint32_t sdma_engine_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(CreateQueue) == 96 && offsetof(CreateQueue, write_pointer_address) == 8);
static_assert(offsetof(CreateQueue, read_pointer_address) == 16 && offsetof(CreateQueue, doorbell_offset) == 24);
static_assert(offsetof(CreateQueue, ring_size) == 32 && offsetof(CreateQueue, gpu_id) == 36);
static_assert(offsetof(CreateQueue, queue_type) == 40 && offsetof(CreateQueue, queue_percentage) == 44);
static_assert(offsetof(CreateQueue, queue_priority) == 48 && offsetof(CreateQueue, queue_id) == 52);
static_assert(offsetof(CreateQueue, eop_buffer_address) == 56 && offsetof(CreateQueue, eop_buffer_size) == 64);
static_assert(offsetof(CreateQueue, ctx_save_restore_address) == 72);
static_assert(offsetof(CreateQueue, ctx_save_restore_size) == 80 && offsetof(CreateQueue, ctl_stack_size) == 84);
static_assert(offsetof(CreateQueue, sdma_engine_id) == 88 && offsetof(CreateQueue, pad) == 92);
/// What older kernels take of it.
inline constexpr std::size_t kOldCreateQueueBytes = 88;

struct DestroyQueue {
  std::uint32_t queue_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(DestroyQueue) == 8);

struct SetMemoryPolicy {
  std::uint64_t alternate_aperture_base = 0;
  std::uint64_t alternate_aperture_size = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t default_policy = 0;
  std::uint32_t alternate_policy = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SetMemoryPolicy) == 32 && offsetof(SetMemoryPolicy, gpu_id) == 16);

struct GetClockCounters {
  std::uint64_t gpu_clock_counter = 0;
  std::uint64_t cpu_clock_counter = 0;
  std::uint64_t system_clock_counter = 0;
  std::uint64_t system_clock_freq = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(GetClockCounters) == 40 && offsetof(GetClockCounters, gpu_id) == 32);

struct UpdateQueue {
  std::uint64_t ring_base_address = 0;
  std::uint32_t queue_id = 0;
  std::uint32_t ring_size = 0;
  std::uint32_t queue_percentage = 0;
  std::uint32_t queue_priority = 0;
};
static_assert(sizeof(UpdateQueue) == 24 && offsetof(UpdateQueue, queue_priority) == 20);

enum class EventType : std::uint32_t { signal = 0, hw_exception = 3, memory = 8 };
/// Slots of 8 bytes in the event page.
inline constexpr std::uint32_t kEventSlots = 4096;
inline constexpr std::uint32_t kEventPageBytes = kEventSlots * 8;

struct CreateEvent {
  std::uint64_t event_page_offset = 0;  ///< in, once: the handle of the event page
  std::uint32_t event_trigger_data = 0;
  EventType event_type = EventType::signal;
  std::uint32_t auto_reset = 0;
  std::uint32_t node_id = 0;
  std::uint32_t event_id = 0;          ///< out
  std::uint32_t event_slot_index = 0;  ///< out
};
static_assert(sizeof(CreateEvent) == 32 && offsetof(CreateEvent, event_trigger_data) == 8);
static_assert(offsetof(CreateEvent, event_type) == 12 && offsetof(CreateEvent, auto_reset) == 16);
static_assert(offsetof(CreateEvent, node_id) == 20 && offsetof(CreateEvent, event_id) == 24);
static_assert(offsetof(CreateEvent, event_slot_index) == 28);

/// The argument of DESTROY_EVENT, SET_EVENT and RESET_EVENT.
struct EventById {
  std::uint32_t event_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(EventById) == 8);

/// What a memory fault was.
struct MemoryFault {
  std::uint32_t not_present = 0;
  std::uint32_t read_only = 0;
  std::uint32_t no_execute = 0;
  std::uint32_t imprecise = 0;
  std::uint64_t address = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t error_type = 0;
};
static_assert(sizeof(MemoryFault) == 32 && offsetof(MemoryFault, no_execute) == 8);
static_assert(offsetof(MemoryFault, address) == 16 && offsetof(MemoryFault, error_type) == 28);

/// One event that is waited for.
struct EventData {
  MemoryFault fault{};  ///< out, of a memory event
  std::uint64_t next = 0;
  std::uint32_t event_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(EventData) == 48 && offsetof(EventData, next) == 32 && offsetof(EventData, event_id) == 40);

/// How a wait ended.
enum class WaitResult : std::uint32_t { complete = 0, timeout = 1, failed = 2 };

struct WaitEvents {
  std::uint64_t events_ptr = 0;
  std::uint32_t num_events = 0;
  std::uint32_t wait_for_all = 0;
  std::uint32_t timeout = 0;  ///< milliseconds
  WaitResult wait_result = WaitResult::complete;
};
static_assert(sizeof(WaitEvents) == 24 && offsetof(WaitEvents, num_events) == 8);
static_assert(offsetof(WaitEvents, wait_for_all) == 12 && offsetof(WaitEvents, timeout) == 16);
static_assert(offsetof(WaitEvents, wait_result) == 20);

struct SetScratchBacking {
  std::uint64_t va_addr = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SetScratchBacking) == 16 && offsetof(SetScratchBacking, gpu_id) == 8);

struct SetTrapHandler {
  std::uint64_t tba_addr = 0;
  std::uint64_t tma_addr = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SetTrapHandler) == 24 && offsetof(SetTrapHandler, gpu_id) == 16);

struct ProcessApertures {
  std::uint64_t lds_base = 0;
  std::uint64_t lds_limit = 0;
  std::uint64_t scratch_base = 0;
  std::uint64_t scratch_limit = 0;
  std::uint64_t gpuvm_base = 0;
  std::uint64_t gpuvm_limit = 0;
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(ProcessApertures) == 56 && offsetof(ProcessApertures, scratch_base) == 16);
static_assert(offsetof(ProcessApertures, gpuvm_base) == 32 && offsetof(ProcessApertures, gpu_id) == 48);

struct GetProcessApertures {
  std::uint64_t apertures_ptr = 0;
  std::uint32_t num_of_nodes = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(GetProcessApertures) == 16 && offsetof(GetProcessApertures, num_of_nodes) == 8);

struct AcquireVm {
  std::uint32_t drm_fd = 0;
  std::uint32_t gpu_id = 0;
};
static_assert(sizeof(AcquireVm) == 8 && offsetof(AcquireVm, gpu_id) == 4);

/// Kinds and properties of memory.
enum MemoryFlags : std::uint32_t {
  kVram = 1u << 0,
  kGtt = 1u << 1,
  kUserptr = 1u << 2,
  kDoorbell = 1u << 3,
  kMmioRemap = 1u << 4,
  kContiguous = 1u << 23,
  kExtCoherent = 1u << 24,
  kUncached = 1u << 25,
  kCoherent = 1u << 26,
  kAqlQueueMemory = 1u << 27,
  kNoSubstitute = 1u << 28,
  kPublic = 1u << 29,  ///< the host can see it
  kExecutable = 1u << 30,
  kWritable = 1u << 31,
};

struct AllocMemory {
  std::uint64_t va_addr = 0;
  std::uint64_t size = 0;
  std::uint64_t handle = 0;       ///< out
  std::uint64_t mmap_offset = 0;  ///< in for user pointers, out else
  std::uint32_t gpu_id = 0;
  std::uint32_t flags = 0;  ///< MemoryFlags
};
static_assert(sizeof(AllocMemory) == 40 && offsetof(AllocMemory, size) == 8 && offsetof(AllocMemory, handle) == 16);
static_assert(offsetof(AllocMemory, mmap_offset) == 24 && offsetof(AllocMemory, gpu_id) == 32);
static_assert(offsetof(AllocMemory, flags) == 36);

struct FreeMemory {
  std::uint64_t handle = 0;
};
static_assert(sizeof(FreeMemory) == 8);

/// The argument of MAP_MEMORY and UNMAP_MEMORY.
struct MapMemory {
  std::uint64_t handle = 0;
  std::uint64_t device_ids_array_ptr = 0;
  std::uint32_t n_devices = 0;
  std::uint32_t n_success = 0;  ///< out
};
static_assert(sizeof(MapMemory) == 24 && offsetof(MapMemory, device_ids_array_ptr) == 8);
static_assert(offsetof(MapMemory, n_devices) == 16 && offsetof(MapMemory, n_success) == 20);

struct AvailableMemory {
  std::uint64_t available = 0;  ///< out
  std::uint32_t gpu_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(AvailableMemory) == 16 && offsetof(AvailableMemory, gpu_id) == 8);

struct RuntimeEnable {
  std::uint64_t r_debug = 0;
  std::uint32_t mode_mask = 0;
  std::uint32_t capabilities_mask = 0;
};
static_assert(sizeof(RuntimeEnable) == 16 && offsetof(RuntimeEnable, mode_mask) == 8);
static_assert(offsetof(RuntimeEnable, capabilities_mask) == 12);

namespace detail {
template <class Args>
[[nodiscard]] consteval std::uint32_t request(IoctlDirection direction, std::uint8_t number) noexcept {
  static_assert(std::is_trivially_copyable_v<Args> && std::is_standard_layout_v<Args>);
  return ioctl_request(direction, 'K', number, sizeof(Args));
}
}  // namespace detail

inline constexpr std::uint32_t kGetVersion = detail::request<GetVersion>(IoctlDirection::read, 0x01);
inline constexpr std::uint32_t kCreateQueue = detail::request<CreateQueue>(IoctlDirection::read_write, 0x02);
inline constexpr std::uint32_t kDestroyQueue = detail::request<DestroyQueue>(IoctlDirection::read_write, 0x03);
inline constexpr std::uint32_t kSetMemoryPolicy = detail::request<SetMemoryPolicy>(IoctlDirection::write, 0x04);
inline constexpr std::uint32_t kGetClockCounters = detail::request<GetClockCounters>(IoctlDirection::read_write, 0x05);
inline constexpr std::uint32_t kUpdateQueue = detail::request<UpdateQueue>(IoctlDirection::write, 0x07);
inline constexpr std::uint32_t kCreateEvent = detail::request<CreateEvent>(IoctlDirection::read_write, 0x08);
inline constexpr std::uint32_t kDestroyEvent = detail::request<EventById>(IoctlDirection::write, 0x09);
inline constexpr std::uint32_t kSetEvent = detail::request<EventById>(IoctlDirection::write, 0x0a);
inline constexpr std::uint32_t kResetEvent = detail::request<EventById>(IoctlDirection::write, 0x0b);
inline constexpr std::uint32_t kWaitEvents = detail::request<WaitEvents>(IoctlDirection::read_write, 0x0c);
inline constexpr std::uint32_t kSetScratchBacking =
    detail::request<SetScratchBacking>(IoctlDirection::read_write, 0x11);
inline constexpr std::uint32_t kSetTrapHandler = detail::request<SetTrapHandler>(IoctlDirection::write, 0x13);
inline constexpr std::uint32_t kGetProcessApertures =
    detail::request<GetProcessApertures>(IoctlDirection::read_write, 0x14);
inline constexpr std::uint32_t kAcquireVm = detail::request<AcquireVm>(IoctlDirection::write, 0x15);
inline constexpr std::uint32_t kAllocMemory = detail::request<AllocMemory>(IoctlDirection::read_write, 0x16);
inline constexpr std::uint32_t kFreeMemory = detail::request<FreeMemory>(IoctlDirection::write, 0x17);
inline constexpr std::uint32_t kMapMemory = detail::request<MapMemory>(IoctlDirection::read_write, 0x18);
inline constexpr std::uint32_t kUnmapMemory = detail::request<MapMemory>(IoctlDirection::read_write, 0x19);
inline constexpr std::uint32_t kAvailableMemory = detail::request<AvailableMemory>(IoctlDirection::read_write, 0x23);
inline constexpr std::uint32_t kRuntimeEnable = detail::request<RuntimeEnable>(IoctlDirection::read_write, 0x25);

static_assert(kGetVersion == 0x80084b01 && kCreateQueue == 0xc0604b02 && kDestroyQueue == 0xc0084b03);
static_assert(kSetMemoryPolicy == 0x40204b04 && kGetClockCounters == 0xc0284b05 && kUpdateQueue == 0x40184b07);
static_assert(kCreateEvent == 0xc0204b08 && kDestroyEvent == 0x40084b09 && kSetEvent == 0x40084b0a);
static_assert(kResetEvent == 0x40084b0b && kWaitEvents == 0xc0184b0c && kSetScratchBacking == 0xc0104b11);
static_assert(kSetTrapHandler == 0x40184b13 && kGetProcessApertures == 0xc0104b14 && kAcquireVm == 0x40084b15);
static_assert(kAllocMemory == 0xc0284b16 && kFreeMemory == 0x40084b17 && kMapMemory == 0xc0184b18);
static_assert(kUnmapMemory == 0xc0184b19 && kAvailableMemory == 0xc0104b23 && kRuntimeEnable == 0xc0104b25);

/// CREATE_QUEUE as kernels before 1.17 know it.
inline constexpr std::uint32_t kOldCreateQueue =
    ioctl_request(IoctlDirection::read_write, 'K', 0x02, kOldCreateQueueBytes);
static_assert(kOldCreateQueue == 0xc0584b02);

/// Every call, by number.
inline constexpr auto kCalls = std::to_array<IoctlCall>({
    {"GET_VERSION", kGetVersion},
    {"CREATE_QUEUE", kCreateQueue},
    {"DESTROY_QUEUE", kDestroyQueue},
    {"SET_MEMORY_POLICY", kSetMemoryPolicy},
    {"GET_CLOCK_COUNTERS", kGetClockCounters},
    {"UPDATE_QUEUE", kUpdateQueue},
    {"CREATE_EVENT", kCreateEvent},
    {"DESTROY_EVENT", kDestroyEvent},
    {"SET_EVENT", kSetEvent},
    {"RESET_EVENT", kResetEvent},
    {"WAIT_EVENTS", kWaitEvents},
    {"SET_SCRATCH_BACKING_VA", kSetScratchBacking},
    {"SET_TRAP_HANDLER", kSetTrapHandler},
    {"GET_PROCESS_APERTURES_NEW", kGetProcessApertures},
    {"ACQUIRE_VM", kAcquireVm},
    {"ALLOC_MEMORY_OF_GPU", kAllocMemory},
    {"FREE_MEMORY_OF_GPU", kFreeMemory},
    {"MAP_MEMORY_TO_GPU", kMapMemory},
    {"UNMAP_MEMORY_FROM_GPU", kUnmapMemory},
    {"AVAILABLE_MEMORY", kAvailableMemory},
    {"RUNTIME_ENABLE", kRuntimeEnable},
});

}  // namespace zrt::inline ZRT_ABI::pm4::kfd
