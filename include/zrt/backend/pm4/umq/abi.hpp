// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/umq/abi.hpp: the calls of an amdgpu render node that a user queue needs, with their arguments as the
// kernel lays them out.
#pragma once

#include <zrt/backend/pm4/ioctl.hpp>
#include <zrt/backend/pm4/umq/info.hpp>

#include <array>

/// The amdgpu driver's user queues (Linux 6.16 and on). Field names and numbers are those of drm/amdgpu_drm.h and
/// drm/drm.h; arguments that a program does not set are 0. Later kernels narrow some counts: small numbers fit either
/// way.
namespace zrt::inline ZRT_ABI::pm4::umq {

/// What a call wrote over the start of its argument.
template <class Out, class Arguments> [[nodiscard]] Out answer_in(const Arguments& arguments) noexcept {
  static_assert(sizeof(Out) <= sizeof(Arguments));
  Out out;
  __builtin_memcpy(static_cast<void*>(&out), &arguments, sizeof out);
  return out;
}

enum class QueueOperation : std::uint32_t { create = 1, free = 2 };
/// The kind of engine that a queue is for.
inline constexpr std::uint32_t kIpCompute = 1;

/// The argument of USERQ; of a free only `op` and `queue_id` may be set.
struct UserQueue {
  QueueOperation op = QueueOperation::create;
  std::uint32_t queue_id = 0;  ///< of a free
  std::uint32_t ip_type = 0;
  std::uint32_t doorbell_handle = 0;
  std::uint32_t doorbell_offset = 0;  ///< in units of 8 bytes
  std::uint32_t flags = 0;            ///< bits 1:0 the priority
  std::uint64_t queue_va = 0;
  std::uint64_t queue_size = 0;
  std::uint64_t rptr_va = 0;
  std::uint64_t wptr_va = 0;
  std::uint64_t mqd = 0;  ///< of a ComputeMqd
  std::uint64_t mqd_size = 0;
};
static_assert(sizeof(UserQueue) == 72 && offsetof(UserQueue, queue_id) == 4 && offsetof(UserQueue, ip_type) == 8);
static_assert(offsetof(UserQueue, doorbell_handle) == 12 && offsetof(UserQueue, doorbell_offset) == 16);
static_assert(offsetof(UserQueue, flags) == 20 && offsetof(UserQueue, queue_va) == 24);
static_assert(offsetof(UserQueue, queue_size) == 32 && offsetof(UserQueue, rptr_va) == 40);
static_assert(offsetof(UserQueue, wptr_va) == 48 && offsetof(UserQueue, mqd) == 56);
static_assert(offsetof(UserQueue, mqd_size) == 64);

/// What USERQ writes over the start of its argument.
struct UserQueueOut {
  std::uint32_t queue_id = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(UserQueueOut) == 8);

struct ComputeMqd {
  std::uint64_t eop_va = 0;
};
static_assert(sizeof(ComputeMqd) == 8);

struct UserQueueSignal {
  std::uint32_t queue_id = 0;
  std::uint32_t pad = 0;
  std::uint64_t syncobj_handles = 0;
  std::uint64_t num_syncobj_handles = 0;
  std::uint64_t bo_read_handles = 0;
  std::uint64_t bo_write_handles = 0;
  std::uint32_t num_bo_read_handles = 0;
  std::uint32_t num_bo_write_handles = 0;
};
static_assert(sizeof(UserQueueSignal) == 48 && offsetof(UserQueueSignal, syncobj_handles) == 8);
static_assert(offsetof(UserQueueSignal, num_syncobj_handles) == 16 && offsetof(UserQueueSignal, bo_read_handles) == 24);
static_assert(offsetof(UserQueueSignal, bo_write_handles) == 32 &&
              offsetof(UserQueueSignal, num_bo_read_handles) == 40);
static_assert(offsetof(UserQueueSignal, num_bo_write_handles) == 44);

struct FenceInfo {
  std::uint64_t va = 0;
  std::uint64_t value = 0;
};
static_assert(sizeof(FenceInfo) == 16 && offsetof(FenceInfo, value) == 8);

struct UserQueueWait {
  std::uint32_t waitq_id = 0;
  std::uint32_t pad = 0;
  std::uint64_t syncobj_handles = 0;
  std::uint64_t syncobj_timeline_handles = 0;
  std::uint64_t syncobj_timeline_points = 0;
  std::uint64_t bo_read_handles = 0;
  std::uint64_t bo_write_handles = 0;
  std::uint16_t num_syncobj_timeline_handles = 0;
  std::uint16_t num_fences = 0;
  std::uint32_t num_syncobj_handles = 0;
  std::uint32_t num_bo_read_handles = 0;
  std::uint32_t num_bo_write_handles = 0;
  std::uint64_t out_fences = 0;  ///< of FenceInfo
};
static_assert(sizeof(UserQueueWait) == 72 && offsetof(UserQueueWait, syncobj_timeline_handles) == 16);
static_assert(offsetof(UserQueueWait, syncobj_timeline_points) == 24 && offsetof(UserQueueWait, bo_read_handles) == 32);
static_assert(offsetof(UserQueueWait, bo_write_handles) == 40);
static_assert(offsetof(UserQueueWait, num_syncobj_timeline_handles) == 48 && offsetof(UserQueueWait, num_fences) == 50);
static_assert(offsetof(UserQueueWait, num_syncobj_handles) == 52 && offsetof(UserQueueWait, num_bo_read_handles) == 56);
static_assert(offsetof(UserQueueWait, num_bo_write_handles) == 60 && offsetof(UserQueueWait, out_fences) == 64);

/// Which driver a render node belongs to, and its version.
struct DrmVersion {
  std::int32_t version_major = 0;
  std::int32_t version_minor = 0;
  std::int32_t version_patchlevel = 0;
  std::int32_t pad = 0;
  std::uint64_t name_len = 0;  ///< in: room at `name`; out: what the name has
  std::uint64_t name = 0;
  std::uint64_t date_len = 0;
  std::uint64_t date = 0;
  std::uint64_t desc_len = 0;
  std::uint64_t desc = 0;
};
static_assert(sizeof(DrmVersion) == 64 && offsetof(DrmVersion, name_len) == 16 && offsetof(DrmVersion, name) == 24);

/// Where memory lies.
enum Domains : std::uint64_t { kDomainCpu = 0x1, kDomainGtt = 0x2, kDomainVram = 0x4, kDomainDoorbell = 0x40 };

enum GemFlags : std::uint64_t { kCpuAccessRequired = 1u << 0, kNoCpuAccess = 1u << 1 };

struct GemCreate {
  std::uint64_t bo_size = 0;
  std::uint64_t alignment = 0;
  std::uint64_t domains = 0;
  std::uint64_t domain_flags = 0;
};
static_assert(sizeof(GemCreate) == 32 && offsetof(GemCreate, alignment) == 8 && offsetof(GemCreate, domains) == 16);
static_assert(offsetof(GemCreate, domain_flags) == 24);

/// What GEM_CREATE writes over the start of its argument.
struct GemCreateOut {
  std::uint32_t handle = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(GemCreateOut) == 8);

/// A handle goes in; an offset for mmap comes out in its place.
struct GemMmap {
  std::uint64_t handle_or_offset = 0;
};
static_assert(sizeof(GemMmap) == 8);

enum class VaOperation : std::uint32_t { map = 1, unmap = 2, clear = 3, replace = 4 };
enum VaFlags : std::uint32_t {
  kVaDelayUpdate = 1u << 0,
  kVaRead = 1u << 1,
  kVaWrite = 1u << 2,
  kVaExecute = 1u << 3,
  kVaUncached = 4u << 5,  ///< the memory type, bits 8:5
  kVaNoAlloc = 1u << 9,
};

/// Maps memory into the address space. It takes effect when the timeline reaches its point.
struct GemVa {
  std::uint32_t handle = 0;
  std::uint32_t pad = 0;
  VaOperation operation = VaOperation::map;
  std::uint32_t flags = 0;
  std::uint64_t va_address = 0;
  std::uint64_t offset_in_bo = 0;
  std::uint64_t map_size = 0;
  std::uint64_t vm_timeline_point = 0;
  std::uint32_t vm_timeline_syncobj_out = 0;
  std::uint32_t num_syncobj_handles = 0;
  std::uint64_t input_fence_syncobj_handles = 0;
};
static_assert(sizeof(GemVa) == 64 && offsetof(GemVa, operation) == 8 && offsetof(GemVa, flags) == 12);
static_assert(offsetof(GemVa, va_address) == 16 && offsetof(GemVa, offset_in_bo) == 24);
static_assert(offsetof(GemVa, map_size) == 32 && offsetof(GemVa, vm_timeline_point) == 40);
static_assert(offsetof(GemVa, vm_timeline_syncobj_out) == 48 && offsetof(GemVa, num_syncobj_handles) == 52);
static_assert(offsetof(GemVa, input_fence_syncobj_handles) == 56);
/// What kernels before 6.16 take of it.
inline constexpr std::size_t kOldGemVaBytes = 40;

struct SyncobjCreate {
  std::uint32_t handle = 0;  ///< out
  std::uint32_t flags = 0;
};
static_assert(sizeof(SyncobjCreate) == 8);

struct SyncobjDestroy {
  std::uint32_t handle = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(SyncobjDestroy) == 8);

enum WaitFlags : std::uint32_t { kWaitAll = 1u << 0, kWaitForSubmit = 1u << 1 };

struct SyncobjWait {
  std::uint64_t handles = 0;
  std::int64_t timeout_nsec = 0;  ///< a point of the monotonic clock
  std::uint32_t count_handles = 0;
  std::uint32_t flags = 0;
  std::uint32_t first_signaled = 0;  ///< out
  std::uint32_t pad = 0;
};
static_assert(sizeof(SyncobjWait) == 32 && offsetof(SyncobjWait, count_handles) == 16);

struct SyncobjTimelineWait {
  std::uint64_t handles = 0;
  std::uint64_t points = 0;
  std::int64_t timeout_nsec = 0;
  std::uint32_t count_handles = 0;
  std::uint32_t flags = 0;
  std::uint32_t first_signaled = 0;  ///< out
  std::uint32_t pad = 0;
};
static_assert(sizeof(SyncobjTimelineWait) == 40 && offsetof(SyncobjTimelineWait, count_handles) == 24);

/// The argument of SYNCOBJ_QUERY and SYNCOBJ_TIMELINE_SIGNAL.
struct SyncobjTimeline {
  std::uint64_t handles = 0;
  std::uint64_t points = 0;
  std::uint32_t count_handles = 0;
  std::uint32_t flags = 0;
};
static_assert(sizeof(SyncobjTimeline) == 24 && offsetof(SyncobjTimeline, count_handles) == 16);

struct GemClose {
  std::uint32_t handle = 0;
  std::uint32_t pad = 0;
};
static_assert(sizeof(GemClose) == 8);

struct PrimeHandle {
  std::uint32_t handle = 0;
  std::uint32_t flags = 0;
  std::int32_t fd = 0;  ///< out
};
static_assert(sizeof(PrimeHandle) == 12 && offsetof(PrimeHandle, fd) == 8);

namespace detail {
template <class Args>
[[nodiscard]] consteval std::uint32_t request(IoctlDirection direction, std::uint8_t number) noexcept {
  static_assert(std::is_trivially_copyable_v<Args> && std::is_standard_layout_v<Args>);
  return ioctl_request(direction, 'd', number, sizeof(Args));
}
}  // namespace detail

inline constexpr std::uint32_t kVersion = detail::request<DrmVersion>(IoctlDirection::read_write, 0x00);
inline constexpr std::uint32_t kGemClose = detail::request<GemClose>(IoctlDirection::write, 0x09);
inline constexpr std::uint32_t kPrimeHandleToFd = detail::request<PrimeHandle>(IoctlDirection::read_write, 0x2d);
inline constexpr std::uint32_t kGemCreate = detail::request<GemCreate>(IoctlDirection::read_write, 0x40);
inline constexpr std::uint32_t kGemMmap = detail::request<GemMmap>(IoctlDirection::read_write, 0x41);
inline constexpr std::uint32_t kInfo = detail::request<Info>(IoctlDirection::write, 0x45);
inline constexpr std::uint32_t kGemVa = detail::request<GemVa>(IoctlDirection::write, 0x48);
inline constexpr std::uint32_t kUserQueue = detail::request<UserQueue>(IoctlDirection::read_write, 0x56);
inline constexpr std::uint32_t kUserQueueSignal = detail::request<UserQueueSignal>(IoctlDirection::read_write, 0x57);
inline constexpr std::uint32_t kUserQueueWait = detail::request<UserQueueWait>(IoctlDirection::read_write, 0x58);
inline constexpr std::uint32_t kSyncobjCreate = detail::request<SyncobjCreate>(IoctlDirection::read_write, 0xbf);
inline constexpr std::uint32_t kSyncobjDestroy = detail::request<SyncobjDestroy>(IoctlDirection::read_write, 0xc0);
inline constexpr std::uint32_t kSyncobjWait = detail::request<SyncobjWait>(IoctlDirection::read_write, 0xc3);
inline constexpr std::uint32_t kSyncobjTimelineWait =
    detail::request<SyncobjTimelineWait>(IoctlDirection::read_write, 0xca);
inline constexpr std::uint32_t kSyncobjQuery = detail::request<SyncobjTimeline>(IoctlDirection::read_write, 0xcb);
inline constexpr std::uint32_t kSyncobjTimelineSignal =
    detail::request<SyncobjTimeline>(IoctlDirection::read_write, 0xcd);

static_assert(kUserQueue == 0xc0486456 && kUserQueueSignal == 0xc0306457 && kUserQueueWait == 0xc0486458);
static_assert(kGemCreate == 0xc0206440 && kGemMmap == 0xc0086441 && kGemVa == 0x40406448 && kInfo == 0x40206445);
static_assert(kSyncobjCreate == 0xc00864bf && kSyncobjDestroy == 0xc00864c0 && kSyncobjWait == 0xc02064c3);
static_assert(kSyncobjTimelineWait == 0xc02864ca && kSyncobjQuery == 0xc01864cb);
static_assert(kVersion == 0xc0406400);
static_assert(kSyncobjTimelineSignal == 0xc01864cd && kGemClose == 0x40086409 && kPrimeHandleToFd == 0xc00c642d);

/// GEM_VA as kernels before 6.16 know it.
inline constexpr std::uint32_t kOldGemVa = ioctl_request(IoctlDirection::write, 'd', 0x48, kOldGemVaBytes);
static_assert(kOldGemVa == 0x40286448);

/// Every call, by number.
inline constexpr auto kCalls = std::to_array<IoctlCall>({
    {"VERSION", kVersion},
    {"GEM_CLOSE", kGemClose},
    {"PRIME_HANDLE_TO_FD", kPrimeHandleToFd},
    {"GEM_CREATE", kGemCreate},
    {"GEM_MMAP", kGemMmap},
    {"INFO", kInfo},
    {"GEM_VA", kGemVa},
    {"USERQ", kUserQueue},
    {"USERQ_SIGNAL", kUserQueueSignal},
    {"USERQ_WAIT", kUserQueueWait},
    {"SYNCOBJ_CREATE", kSyncobjCreate},
    {"SYNCOBJ_DESTROY", kSyncobjDestroy},
    {"SYNCOBJ_WAIT", kSyncobjWait},
    {"SYNCOBJ_TIMELINE_WAIT", kSyncobjTimelineWait},
    {"SYNCOBJ_QUERY", kSyncobjQuery},
    {"SYNCOBJ_TIMELINE_SIGNAL", kSyncobjTimelineSignal},
});

}  // namespace zrt::inline ZRT_ABI::pm4::umq
