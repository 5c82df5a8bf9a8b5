// SPDX-License-Identifier: Apache-2.0
// tests/pm4/kernel_headers.cpp: our mirrors of the kernel's calls are those of libdrm's and Linux's own headers, as far as
// these go: amdgpu_drm.h and drm.h of libdrm 2.4.114, kfd_ioctl.h of Linux 6.1. Newer than these, and ours alone: user
// queues, the long form of GEM_VA, its flag that keeps memory out of a cache, the domain of doorbells, GPUVM_FAULT,
// RUNTIME_ENABLE, and the last fields of CREATE_QUEUE, DEV_INFO and HW_IP_INFO.
#include <zrt/backend/pm4/kfd/abi.hpp>
#include <zrt/backend/pm4/umq/abi.hpp>

#include <gtest/gtest.h>

#if __has_include(<libdrm/amdgpu_drm.h>) && __has_include(<linux/kfd_ioctl.h>)
#include <libdrm/amdgpu_drm.h>
#include <libdrm/drm.h>
#include <linux/kfd_ioctl.h>

// A field of ours lies where theirs does, and has its size.
#define ZRT_SAME_FIELD(ours, field, theirs, their_field)                  \
  static_assert(offsetof(ours, field) == offsetof(theirs, their_field) && \
                sizeof(ours::field) == sizeof(theirs::their_field))
#define ZRT_SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs))

namespace kernel_headers_test {

namespace umq = zrt::pm4::umq;
namespace kfd = zrt::pm4::kfd;

// --- drm.h -----------------------------------------------------------------------------------------

static_assert(umq::kVersion == DRM_IOCTL_VERSION && umq::kGemClose == DRM_IOCTL_GEM_CLOSE);
static_assert(umq::kPrimeHandleToFd == DRM_IOCTL_PRIME_HANDLE_TO_FD);
static_assert(umq::kSyncobjCreate == DRM_IOCTL_SYNCOBJ_CREATE && umq::kSyncobjDestroy == DRM_IOCTL_SYNCOBJ_DESTROY);
static_assert(umq::kSyncobjWait == DRM_IOCTL_SYNCOBJ_WAIT && umq::kSyncobjQuery == DRM_IOCTL_SYNCOBJ_QUERY);
static_assert(umq::kSyncobjTimelineWait == DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT);
static_assert(umq::kSyncobjTimelineSignal == DRM_IOCTL_SYNCOBJ_TIMELINE_SIGNAL);
static_assert(umq::kWaitAll == DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL);
static_assert(umq::kWaitForSubmit == DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT);

ZRT_SAME_SIZE(umq::DrmVersion, drm_version);
ZRT_SAME_FIELD(umq::DrmVersion, version_major, drm_version, version_major);
ZRT_SAME_FIELD(umq::DrmVersion, version_minor, drm_version, version_minor);
ZRT_SAME_FIELD(umq::DrmVersion, name_len, drm_version, name_len);
ZRT_SAME_FIELD(umq::DrmVersion, name, drm_version, name);
ZRT_SAME_SIZE(umq::GemClose, drm_gem_close);
ZRT_SAME_SIZE(umq::PrimeHandle, drm_prime_handle);
ZRT_SAME_FIELD(umq::PrimeHandle, fd, drm_prime_handle, fd);
ZRT_SAME_SIZE(umq::SyncobjCreate, drm_syncobj_create);
ZRT_SAME_SIZE(umq::SyncobjDestroy, drm_syncobj_destroy);
ZRT_SAME_SIZE(umq::SyncobjWait, drm_syncobj_wait);
ZRT_SAME_FIELD(umq::SyncobjWait, timeout_nsec, drm_syncobj_wait, timeout_nsec);
ZRT_SAME_FIELD(umq::SyncobjWait, count_handles, drm_syncobj_wait, count_handles);
ZRT_SAME_FIELD(umq::SyncobjWait, first_signaled, drm_syncobj_wait, first_signaled);
ZRT_SAME_SIZE(umq::SyncobjTimelineWait, drm_syncobj_timeline_wait);
ZRT_SAME_FIELD(umq::SyncobjTimelineWait, points, drm_syncobj_timeline_wait, points);
ZRT_SAME_FIELD(umq::SyncobjTimelineWait, timeout_nsec, drm_syncobj_timeline_wait, timeout_nsec);
ZRT_SAME_FIELD(umq::SyncobjTimelineWait, flags, drm_syncobj_timeline_wait, flags);
ZRT_SAME_SIZE(umq::SyncobjTimeline, drm_syncobj_timeline_array);
ZRT_SAME_FIELD(umq::SyncobjTimeline, points, drm_syncobj_timeline_array, points);
ZRT_SAME_FIELD(umq::SyncobjTimeline, count_handles, drm_syncobj_timeline_array, count_handles);

// --- amdgpu_drm.h ----------------------------------------------------------------------------------

static_assert(umq::kGemCreate == DRM_IOCTL_AMDGPU_GEM_CREATE && umq::kGemMmap == DRM_IOCTL_AMDGPU_GEM_MMAP);
static_assert(umq::kInfo == DRM_IOCTL_AMDGPU_INFO);
static_assert(umq::kOldGemVa == DRM_IOCTL_AMDGPU_GEM_VA, "the header knows the short form alone");
static_assert(umq::kIpCompute == AMDGPU_HW_IP_COMPUTE);
static_assert(umq::kDomainCpu == AMDGPU_GEM_DOMAIN_CPU && umq::kDomainGtt == AMDGPU_GEM_DOMAIN_GTT);
static_assert(umq::kDomainVram == AMDGPU_GEM_DOMAIN_VRAM);
static_assert(umq::kCpuAccessRequired == AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED);
static_assert(umq::kNoCpuAccess == AMDGPU_GEM_CREATE_NO_CPU_ACCESS);
static_assert(static_cast<int>(umq::VaOperation::map) == AMDGPU_VA_OP_MAP);
static_assert(static_cast<int>(umq::VaOperation::unmap) == AMDGPU_VA_OP_UNMAP);
static_assert(static_cast<int>(umq::VaOperation::clear) == AMDGPU_VA_OP_CLEAR);
static_assert(static_cast<int>(umq::VaOperation::replace) == AMDGPU_VA_OP_REPLACE);
static_assert(umq::kVaDelayUpdate == AMDGPU_VM_DELAY_UPDATE && umq::kVaRead == AMDGPU_VM_PAGE_READABLE);
static_assert(umq::kVaWrite == AMDGPU_VM_PAGE_WRITEABLE && umq::kVaExecute == AMDGPU_VM_PAGE_EXECUTABLE);
static_assert(umq::kVaUncached == AMDGPU_VM_MTYPE_UC);
static_assert(static_cast<int>(umq::InfoQuery::hw_ip_info) == AMDGPU_INFO_HW_IP_INFO);
static_assert(static_cast<int>(umq::InfoQuery::dev_info) == AMDGPU_INFO_DEV_INFO);
static_assert(static_cast<int>(umq::InfoQuery::memory) == AMDGPU_INFO_MEMORY);
static_assert(static_cast<int>(umq::InfoQuery::vram_lost_counter) == AMDGPU_INFO_VRAM_LOST_COUNTER);

ZRT_SAME_SIZE(umq::GemCreate, drm_amdgpu_gem_create);
ZRT_SAME_FIELD(umq::GemCreate, alignment, drm_amdgpu_gem_create, in.alignment);
ZRT_SAME_FIELD(umq::GemCreate, domains, drm_amdgpu_gem_create, in.domains);
ZRT_SAME_FIELD(umq::GemCreate, domain_flags, drm_amdgpu_gem_create, in.domain_flags);
ZRT_SAME_FIELD(umq::GemCreateOut, handle, drm_amdgpu_gem_create, out.handle);
ZRT_SAME_SIZE(umq::GemMmap, drm_amdgpu_gem_mmap);
static_assert(umq::kOldGemVaBytes == sizeof(drm_amdgpu_gem_va));
ZRT_SAME_FIELD(umq::GemVa, operation, drm_amdgpu_gem_va, operation);
ZRT_SAME_FIELD(umq::GemVa, flags, drm_amdgpu_gem_va, flags);
ZRT_SAME_FIELD(umq::GemVa, va_address, drm_amdgpu_gem_va, va_address);
ZRT_SAME_FIELD(umq::GemVa, offset_in_bo, drm_amdgpu_gem_va, offset_in_bo);
ZRT_SAME_FIELD(umq::GemVa, map_size, drm_amdgpu_gem_va, map_size);
ZRT_SAME_SIZE(umq::Info, drm_amdgpu_info);
ZRT_SAME_FIELD(umq::Info, return_size, drm_amdgpu_info, return_size);
ZRT_SAME_FIELD(umq::Info, query, drm_amdgpu_info, query);
static_assert(offsetof(umq::Info, parameters) == offsetof(drm_amdgpu_info, query_hw_ip.type));
// Both answers have grown since; what the header knows of them lies where ours does.
static_assert(sizeof(drm_amdgpu_info_device) <= sizeof(umq::DeviceInfo));
ZRT_SAME_FIELD(umq::DeviceInfo, num_shader_engines, drm_amdgpu_info_device, num_shader_engines);
ZRT_SAME_FIELD(umq::DeviceInfo, num_shader_arrays_per_engine, drm_amdgpu_info_device, num_shader_arrays_per_engine);
ZRT_SAME_FIELD(umq::DeviceInfo, gpu_counter_freq, drm_amdgpu_info_device, gpu_counter_freq);
ZRT_SAME_FIELD(umq::DeviceInfo, cu_active_number, drm_amdgpu_info_device, cu_active_number);
ZRT_SAME_FIELD(umq::DeviceInfo, virtual_address_offset, drm_amdgpu_info_device, virtual_address_offset);
ZRT_SAME_FIELD(umq::DeviceInfo, virtual_address_max, drm_amdgpu_info_device, virtual_address_max);
static_assert(sizeof(drm_amdgpu_info_hw_ip) <= sizeof(umq::HwIpInfo));
ZRT_SAME_FIELD(umq::HwIpInfo, available_rings, drm_amdgpu_info_hw_ip, available_rings);
static_assert(offsetof(umq::HwIpInfo, ip_discovery_version) == offsetof(drm_amdgpu_info_hw_ip, available_rings) + 4);
ZRT_SAME_SIZE(umq::MemoryInfo, drm_amdgpu_memory_info);
ZRT_SAME_FIELD(umq::MemoryInfo, cpu_accessible_vram, drm_amdgpu_memory_info, cpu_accessible_vram);
ZRT_SAME_FIELD(umq::MemoryInfo, gtt, drm_amdgpu_memory_info, gtt);
ZRT_SAME_FIELD(umq::HeapInfo, usable_heap_size, drm_amdgpu_heap_info, usable_heap_size);
ZRT_SAME_FIELD(umq::HeapInfo, heap_usage, drm_amdgpu_heap_info, heap_usage);
ZRT_SAME_FIELD(umq::HeapInfo, max_allocation, drm_amdgpu_heap_info, max_allocation);

// --- kfd_ioctl.h -----------------------------------------------------------------------------------

static_assert(kfd::kGetVersion == AMDKFD_IOC_GET_VERSION && kfd::kDestroyQueue == AMDKFD_IOC_DESTROY_QUEUE);
static_assert(kfd::kOldCreateQueue == AMDKFD_IOC_CREATE_QUEUE, "the header knows the short form alone");
static_assert(kfd::kSetMemoryPolicy == AMDKFD_IOC_SET_MEMORY_POLICY && kfd::kUpdateQueue == AMDKFD_IOC_UPDATE_QUEUE);
static_assert(kfd::kGetClockCounters == AMDKFD_IOC_GET_CLOCK_COUNTERS && kfd::kCreateEvent == AMDKFD_IOC_CREATE_EVENT);
static_assert(kfd::kDestroyEvent == AMDKFD_IOC_DESTROY_EVENT && kfd::kSetEvent == AMDKFD_IOC_SET_EVENT);
static_assert(kfd::kResetEvent == AMDKFD_IOC_RESET_EVENT && kfd::kWaitEvents == AMDKFD_IOC_WAIT_EVENTS);
static_assert(kfd::kSetScratchBacking == AMDKFD_IOC_SET_SCRATCH_BACKING_VA);
static_assert(kfd::kSetTrapHandler == AMDKFD_IOC_SET_TRAP_HANDLER && kfd::kAcquireVm == AMDKFD_IOC_ACQUIRE_VM);
static_assert(kfd::kGetProcessApertures == AMDKFD_IOC_GET_PROCESS_APERTURES_NEW);
static_assert(kfd::kAllocMemory == AMDKFD_IOC_ALLOC_MEMORY_OF_GPU && kfd::kFreeMemory == AMDKFD_IOC_FREE_MEMORY_OF_GPU);
static_assert(kfd::kMapMemory == AMDKFD_IOC_MAP_MEMORY_TO_GPU);
static_assert(kfd::kUnmapMemory == AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU);
static_assert(kfd::kAvailableMemory == AMDKFD_IOC_AVAILABLE_MEMORY);
static_assert(static_cast<int>(kfd::QueueType::compute) == KFD_IOC_QUEUE_TYPE_COMPUTE);
static_assert(static_cast<int>(kfd::QueueType::sdma) == KFD_IOC_QUEUE_TYPE_SDMA);
static_assert(static_cast<int>(kfd::QueueType::compute_aql) == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
static_assert(static_cast<int>(kfd::EventType::signal) == KFD_IOC_EVENT_SIGNAL);
static_assert(static_cast<int>(kfd::EventType::hw_exception) == KFD_IOC_EVENT_HW_EXCEPTION);
static_assert(static_cast<int>(kfd::EventType::memory) == KFD_IOC_EVENT_MEMORY);
static_assert(static_cast<int>(kfd::WaitResult::complete) == KFD_IOC_WAIT_RESULT_COMPLETE);
static_assert(static_cast<int>(kfd::WaitResult::timeout) == KFD_IOC_WAIT_RESULT_TIMEOUT);
static_assert(static_cast<int>(kfd::WaitResult::failed) == KFD_IOC_WAIT_RESULT_FAIL);
static_assert(kfd::kEventSlots == KFD_SIGNAL_EVENT_LIMIT);
static_assert(kfd::kVram == KFD_IOC_ALLOC_MEM_FLAGS_VRAM && kfd::kGtt == KFD_IOC_ALLOC_MEM_FLAGS_GTT);
static_assert(kfd::kUserptr == KFD_IOC_ALLOC_MEM_FLAGS_USERPTR && kfd::kDoorbell == KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL);
static_assert(kfd::kMmioRemap == KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP);
static_assert(kfd::kUncached == KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED);
static_assert(kfd::kCoherent == KFD_IOC_ALLOC_MEM_FLAGS_COHERENT);
static_assert(kfd::kAqlQueueMemory == KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM);
static_assert(kfd::kNoSubstitute == KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE);
static_assert(kfd::kPublic == KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC);
static_assert(kfd::kExecutable == KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE);
static_assert(kfd::kWritable == static_cast<std::uint32_t>(KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE));

static_assert(kfd::kOldCreateQueueBytes == sizeof(kfd_ioctl_create_queue_args));
ZRT_SAME_FIELD(kfd::CreateQueue, ring_base_address, kfd_ioctl_create_queue_args, ring_base_address);
ZRT_SAME_FIELD(kfd::CreateQueue, write_pointer_address, kfd_ioctl_create_queue_args, write_pointer_address);
ZRT_SAME_FIELD(kfd::CreateQueue, read_pointer_address, kfd_ioctl_create_queue_args, read_pointer_address);
ZRT_SAME_FIELD(kfd::CreateQueue, doorbell_offset, kfd_ioctl_create_queue_args, doorbell_offset);
ZRT_SAME_FIELD(kfd::CreateQueue, ring_size, kfd_ioctl_create_queue_args, ring_size);
ZRT_SAME_FIELD(kfd::CreateQueue, gpu_id, kfd_ioctl_create_queue_args, gpu_id);
ZRT_SAME_FIELD(kfd::CreateQueue, queue_type, kfd_ioctl_create_queue_args, queue_type);
ZRT_SAME_FIELD(kfd::CreateQueue, queue_percentage, kfd_ioctl_create_queue_args, queue_percentage);
ZRT_SAME_FIELD(kfd::CreateQueue, queue_priority, kfd_ioctl_create_queue_args, queue_priority);
ZRT_SAME_FIELD(kfd::CreateQueue, queue_id, kfd_ioctl_create_queue_args, queue_id);
ZRT_SAME_FIELD(kfd::CreateQueue, eop_buffer_address, kfd_ioctl_create_queue_args, eop_buffer_address);
ZRT_SAME_FIELD(kfd::CreateQueue, eop_buffer_size, kfd_ioctl_create_queue_args, eop_buffer_size);
ZRT_SAME_FIELD(kfd::CreateQueue, ctx_save_restore_address, kfd_ioctl_create_queue_args, ctx_save_restore_address);
ZRT_SAME_FIELD(kfd::CreateQueue, ctx_save_restore_size, kfd_ioctl_create_queue_args, ctx_save_restore_size);
ZRT_SAME_FIELD(kfd::CreateQueue, ctl_stack_size, kfd_ioctl_create_queue_args, ctl_stack_size);
ZRT_SAME_SIZE(kfd::UpdateQueue, kfd_ioctl_update_queue_args);
ZRT_SAME_FIELD(kfd::UpdateQueue, queue_id, kfd_ioctl_update_queue_args, queue_id);
ZRT_SAME_FIELD(kfd::UpdateQueue, queue_priority, kfd_ioctl_update_queue_args, queue_priority);
ZRT_SAME_SIZE(kfd::SetMemoryPolicy, kfd_ioctl_set_memory_policy_args);
ZRT_SAME_FIELD(kfd::SetMemoryPolicy, alternate_policy, kfd_ioctl_set_memory_policy_args, alternate_policy);
ZRT_SAME_SIZE(kfd::GetClockCounters, kfd_ioctl_get_clock_counters_args);
ZRT_SAME_FIELD(kfd::GetClockCounters, system_clock_freq, kfd_ioctl_get_clock_counters_args, system_clock_freq);
ZRT_SAME_FIELD(kfd::GetClockCounters, gpu_id, kfd_ioctl_get_clock_counters_args, gpu_id);
ZRT_SAME_SIZE(kfd::CreateEvent, kfd_ioctl_create_event_args);
ZRT_SAME_FIELD(kfd::CreateEvent, event_trigger_data, kfd_ioctl_create_event_args, event_trigger_data);
ZRT_SAME_FIELD(kfd::CreateEvent, event_type, kfd_ioctl_create_event_args, event_type);
ZRT_SAME_FIELD(kfd::CreateEvent, auto_reset, kfd_ioctl_create_event_args, auto_reset);
ZRT_SAME_FIELD(kfd::CreateEvent, node_id, kfd_ioctl_create_event_args, node_id);
ZRT_SAME_FIELD(kfd::CreateEvent, event_id, kfd_ioctl_create_event_args, event_id);
ZRT_SAME_FIELD(kfd::CreateEvent, event_slot_index, kfd_ioctl_create_event_args, event_slot_index);
ZRT_SAME_SIZE(kfd::MemoryFault, kfd_hsa_memory_exception_data);
ZRT_SAME_FIELD(kfd::MemoryFault, not_present, kfd_hsa_memory_exception_data, failure.NotPresent);
ZRT_SAME_FIELD(kfd::MemoryFault, read_only, kfd_hsa_memory_exception_data, failure.ReadOnly);
ZRT_SAME_FIELD(kfd::MemoryFault, no_execute, kfd_hsa_memory_exception_data, failure.NoExecute);
ZRT_SAME_FIELD(kfd::MemoryFault, imprecise, kfd_hsa_memory_exception_data, failure.imprecise);
ZRT_SAME_FIELD(kfd::MemoryFault, address, kfd_hsa_memory_exception_data, va);
ZRT_SAME_FIELD(kfd::MemoryFault, gpu_id, kfd_hsa_memory_exception_data, gpu_id);
ZRT_SAME_FIELD(kfd::MemoryFault, error_type, kfd_hsa_memory_exception_data, ErrorType);
ZRT_SAME_SIZE(kfd::EventData, kfd_event_data);
ZRT_SAME_FIELD(kfd::EventData, next, kfd_event_data, kfd_event_data_ext);
ZRT_SAME_FIELD(kfd::EventData, event_id, kfd_event_data, event_id);
ZRT_SAME_SIZE(kfd::WaitEvents, kfd_ioctl_wait_events_args);
ZRT_SAME_FIELD(kfd::WaitEvents, num_events, kfd_ioctl_wait_events_args, num_events);
ZRT_SAME_FIELD(kfd::WaitEvents, wait_for_all, kfd_ioctl_wait_events_args, wait_for_all);
ZRT_SAME_FIELD(kfd::WaitEvents, timeout, kfd_ioctl_wait_events_args, timeout);
ZRT_SAME_FIELD(kfd::WaitEvents, wait_result, kfd_ioctl_wait_events_args, wait_result);
ZRT_SAME_SIZE(kfd::ProcessApertures, kfd_process_device_apertures);
ZRT_SAME_FIELD(kfd::ProcessApertures, gpuvm_base, kfd_process_device_apertures, gpuvm_base);
ZRT_SAME_FIELD(kfd::ProcessApertures, gpu_id, kfd_process_device_apertures, gpu_id);
ZRT_SAME_SIZE(kfd::AcquireVm, kfd_ioctl_acquire_vm_args);
ZRT_SAME_FIELD(kfd::AcquireVm, drm_fd, kfd_ioctl_acquire_vm_args, drm_fd);
ZRT_SAME_SIZE(kfd::AllocMemory, kfd_ioctl_alloc_memory_of_gpu_args);
ZRT_SAME_FIELD(kfd::AllocMemory, va_addr, kfd_ioctl_alloc_memory_of_gpu_args, va_addr);
ZRT_SAME_FIELD(kfd::AllocMemory, size, kfd_ioctl_alloc_memory_of_gpu_args, size);
ZRT_SAME_FIELD(kfd::AllocMemory, handle, kfd_ioctl_alloc_memory_of_gpu_args, handle);
ZRT_SAME_FIELD(kfd::AllocMemory, mmap_offset, kfd_ioctl_alloc_memory_of_gpu_args, mmap_offset);
ZRT_SAME_FIELD(kfd::AllocMemory, gpu_id, kfd_ioctl_alloc_memory_of_gpu_args, gpu_id);
ZRT_SAME_FIELD(kfd::AllocMemory, flags, kfd_ioctl_alloc_memory_of_gpu_args, flags);
ZRT_SAME_SIZE(kfd::FreeMemory, kfd_ioctl_free_memory_of_gpu_args);
ZRT_SAME_SIZE(kfd::MapMemory, kfd_ioctl_map_memory_to_gpu_args);
ZRT_SAME_FIELD(kfd::MapMemory, device_ids_array_ptr, kfd_ioctl_map_memory_to_gpu_args, device_ids_array_ptr);
ZRT_SAME_FIELD(kfd::MapMemory, n_devices, kfd_ioctl_map_memory_to_gpu_args, n_devices);
ZRT_SAME_FIELD(kfd::MapMemory, n_success, kfd_ioctl_map_memory_to_gpu_args, n_success);
ZRT_SAME_SIZE(kfd::MapMemory, kfd_ioctl_unmap_memory_from_gpu_args);
ZRT_SAME_SIZE(kfd::AvailableMemory, kfd_ioctl_get_available_memory_args);
ZRT_SAME_FIELD(kfd::AvailableMemory, gpu_id, kfd_ioctl_get_available_memory_args, gpu_id);

}  // namespace kernel_headers_test

#undef ZRT_SAME_FIELD
#undef ZRT_SAME_SIZE

TEST(KernelHeaders, HaveOurMirrors) { SUCCEED() << "held when this source was compiled"; }
#else
TEST(KernelHeaders, HaveOurMirrors) { GTEST_SKIP() << "SKIPPED: this machine has no headers of libdrm or of KFD"; }
#endif
