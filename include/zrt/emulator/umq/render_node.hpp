// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/umq/render_node.hpp: the calls of an amdgpu render node in the device model.
#pragma once

#include <zrt/backend/pm4/umq/device.hpp>
#include <zrt/emulator/umq/syncobjs.hpp>
#include <zrt/emulator/umq/user_queues.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// What the kernel keeps of one open render node: it goes with the file.
class RenderNode {
 public:
  RenderNode(const Card& card, VideoMemory& video, const std::uint32_t& vram_lost, ProcessMemory& process,
             SyscallRefusal& refuse, GridHook grids, const Allocator& allocator) noexcept
      : card_(card),
        video_(video),
        vram_lost_(vram_lost),
        refuse_(refuse),
        gem_(card, video, process, refuse, allocator),
        syncobjs_(gem_, refuse, allocator),
        queues_(card, gem_, refuse, grids, allocator) {}

  /// `now` is the clock of the process.
  [[nodiscard]] pm4::SystemValue call(std::uint32_t request, void* argument, std::uint64_t now) noexcept {
    bool known = false;
    for (const pm4::IoctlCall& one : pm4::umq::kCalls) known = known || one.request == request;
    const bool of_user_queues =
        request == pm4::umq::kUserQueue || request == pm4::umq::kUserQueueSignal || request == pm4::umq::kUserQueueWait;
    if (!known || (of_user_queues && !card_.kernel.user_queues))
      return refuse_(EINVAL, "ioctl ", hex(request).view(), " is none of this kernel's");
    if (argument == nullptr) return refuse_(EFAULT, pm4::umq::call_name(request), ": no argument");
    switch (request) {
      case pm4::umq::kVersion:
        return with<pm4::umq::DrmVersion>(argument, [&](pm4::umq::DrmVersion& v) { return version(v); });
      case pm4::umq::kInfo:
        return with<pm4::umq::Info>(argument, [&](const pm4::umq::Info& i) { return info(i); });
      case pm4::umq::kGemCreate:
        return with<pm4::umq::GemCreate>(argument, [&](pm4::umq::GemCreate& c) {
          pm4::umq::GemCreateOut out;
          const pm4::SystemValue r = gem_.create(c, out);
          if (r == 0) std::memcpy(static_cast<void*>(&c), &out, sizeof out);
          return r;
        });
      case pm4::umq::kGemMmap:
        return with<pm4::umq::GemMmap>(argument, [&](pm4::umq::GemMmap& m) { return gem_.offset(m); });
      case pm4::umq::kGemClose:
        return with<pm4::umq::GemClose>(argument, [&](const pm4::umq::GemClose& c) {
          const GemObject* const object = gem_.find(c.handle);
          if (object != nullptr && object->doorbells && queues_.rings_in(*object))
            return refuse_(EBUSY, "GEM_CLOSE: a queue rings in buffer ", c.handle);
          return gem_.close(c);
        });
      case pm4::umq::kGemVa:
        return with<pm4::umq::GemVa>(argument, [&](const pm4::umq::GemVa& v) { return map(v); });
      case pm4::umq::kSyncobjCreate:
        return with<pm4::umq::SyncobjCreate>(argument, [&](pm4::umq::SyncobjCreate& c) { return syncobjs_.create(c); });
      case pm4::umq::kSyncobjDestroy:
        return with<pm4::umq::SyncobjDestroy>(argument,
                                              [&](const pm4::umq::SyncobjDestroy& d) { return syncobjs_.destroy(d); });
      case pm4::umq::kSyncobjTimelineWait:
        return with<pm4::umq::SyncobjTimelineWait>(
            argument, [&](const pm4::umq::SyncobjTimelineWait& w) { return syncobjs_.wait(w, now); });
      case pm4::umq::kUserQueue:
        return with<pm4::umq::UserQueue>(argument, [&](pm4::umq::UserQueue& q) { return queue(q); });
      default:
        return refuse_(EINVAL, pm4::umq::call_name(request), " is not modelled");
    }
  }

  /// The GPU is reset.
  void reset() noexcept {
    gem_.lose_video();
    queues_.reset();
  }

  [[nodiscard]] GemObjects& gem() noexcept { return gem_; }
  [[nodiscard]] const GemObjects& gem() const noexcept { return gem_; }
  [[nodiscard]] const Syncobjs& syncobjs() const noexcept { return syncobjs_; }
  [[nodiscard]] UserQueues& queues() noexcept { return queues_; }
  [[nodiscard]] const UserQueues& queues() const noexcept { return queues_; }

 private:
  template <class Arguments, class Body> [[nodiscard]] pm4::SystemValue with(void* argument, Body&& body) noexcept {
    Arguments arguments{};
    std::memcpy(&arguments, argument, sizeof arguments);
    const pm4::SystemValue answer = body(arguments);
    std::memcpy(argument, &arguments, sizeof arguments);
    return answer;
  }

  [[nodiscard]] pm4::SystemValue version(pm4::umq::DrmVersion& v) noexcept {
    constexpr std::string_view name = "amdgpu";
    if (v.name_len != 0 && v.name != 0)
      std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(v.name)), name.data(),
                  v.name_len < name.size() ? static_cast<std::size_t>(v.name_len) : name.size());
    v.version_major = 3;
    v.version_minor = static_cast<std::int32_t>(card_.kernel.drm_minor);
    v.name_len = name.size();
    return 0;
  }

  /// Writes as much of an answer as the caller has room for and this kernel knows.
  template <class Answer>
  [[nodiscard]] static pm4::SystemValue answer(const pm4::umq::Info& i, const Answer& full,
                                               std::size_t known) noexcept {
    std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(i.return_pointer)), &full,
                i.return_size < known ? i.return_size : known);
    return 0;
  }
  [[nodiscard]] pm4::SystemValue info(const pm4::umq::Info& i) noexcept {
    if (i.return_pointer == 0 || i.return_size == 0) return refuse_(EINVAL, "INFO: no room for the answer");
    switch (i.query) {
      case pm4::umq::InfoQuery::hw_ip_info: {
        constexpr std::uint32_t engines = 10;
        if (i.parameters[0] >= engines) return refuse_(EINVAL, "INFO: there is no engine ", i.parameters[0]);
        pm4::umq::HwIpInfo ip{.hw_ip_version_major = pm4::umq::core_version(*card_.target) >> 16,
                              .ib_start_alignment = 32,
                              .ib_size_alignment = 32,
                              .available_rings = 0xff,
                              .ip_discovery_version = pm4::umq::core_version(*card_.target)};
        return answer(i, ip, offsetof(pm4::umq::HwIpInfo, userq_num_slots));
      }
      case pm4::umq::InfoQuery::dev_info: {
        pm4::umq::DeviceInfo device{.num_shader_engines = card_.shader_engines,
                                    .num_shader_arrays_per_engine = 2,
                                    .gpu_counter_freq = card_.clock_rate,
                                    .cu_active_number = card_.compute_units,
                                    .virtual_address_offset = std::uint64_t{1} << 21,
                                    .virtual_address_max = std::uint64_t{1} << 47};
        const bool takes = card_.kernel.user_queues && card_.user_queues;
        device.userq_ip_mask = takes ? 1u << pm4::umq::kIpCompute | 1u : 0;
        return answer(i, device,
                      card_.kernel.user_queues ? sizeof device : offsetof(pm4::umq::DeviceInfo, userq_ip_mask));
      }
      case pm4::umq::InfoQuery::memory: {
        pm4::umq::MemoryInfo memory;
        memory.vram = {video_.total(), video_.total(), video_.used(), video_.total()};
        memory.cpu_accessible_vram = {gem_.visible(), gem_.visible(), gem_.visible() - gem_.visible_left(),
                                      gem_.visible()};
        return answer(i, memory, sizeof memory);
      }
      case pm4::umq::InfoQuery::uq_fw_areas:
        if (!card_.kernel.tells_eop_size || i.parameters[0] != pm4::umq::kIpCompute)
          return refuse_(EINVAL, "INFO: this kernel tells nothing of the firmware's areas for engine ",
                         i.parameters[0]);
        return answer(i, pm4::umq::ComputeAreas{card_.eop_bytes, pm4::kPageBytes}, sizeof(pm4::umq::ComputeAreas));
      case pm4::umq::InfoQuery::vram_lost_counter:
        return answer(i, vram_lost_, sizeof vram_lost_);
      case pm4::umq::InfoQuery::gpuvm_fault:
        return answer(i, queues_.told_fault(), sizeof(pm4::umq::GpuvmFault));
      default:
        return refuse_(EINVAL, "INFO: query ", static_cast<std::uint32_t>(i.query), " is not modelled");
    }
  }

  [[nodiscard]] pm4::SystemValue map(const pm4::umq::GemVa& v) noexcept {
    constexpr std::uint64_t first_address = std::uint64_t{1} << 16, hole = std::uint64_t{1} << 47;
    if (v.pad != 0 || v.num_syncobj_handles != 0 || v.input_fence_syncobj_handles != 0)
      return refuse_(EINVAL, "GEM_VA: fences to wait for are not modelled");
    if (v.va_address < first_address || v.va_address >= hole || v.map_size > hole - v.va_address)
      return refuse_(EINVAL, "GEM_VA: ", v.map_size, " bytes at ", hex(v.va_address).view(),
                     " are reserved, or in the hole");
    switch (v.operation) {
      case pm4::umq::VaOperation::map:
        if (!card_.kernel.user_queues)
          return refuse_(EINVAL, "GEM_VA: this kernel has no timelines for mappings; for user queues it has no use");
        if (v.vm_timeline_syncobj_out == 0 || v.vm_timeline_point == 0)
          return refuse_(EINVAL, "GEM_VA: no timeline would tell when the mapping is there");
        if (!syncobjs_.has(v.vm_timeline_syncobj_out))
          return refuse_(ENOENT, "GEM_VA: there is no sync object ", v.vm_timeline_syncobj_out);
        return gem_.map(v);
      case pm4::umq::VaOperation::unmap: {
        const pm4::SystemValue r = gem_.unmap(v);
        if (r == 0) queues_.evict_users_of(v.va_address, v.map_size);
        return r;
      }
      default:
        return refuse_(EINVAL, "GEM_VA: operation ", static_cast<std::uint32_t>(v.operation), " is not modelled");
    }
  }

  [[nodiscard]] pm4::SystemValue queue(pm4::umq::UserQueue& q) noexcept {
    if (!card_.user_queues) return refuse_(EINVAL, "USERQ: the driver's parameter user_queue is not 1 or 2");
    switch (q.op) {
      case pm4::umq::QueueOperation::create: {
        pm4::umq::UserQueueOut out;
        const pm4::SystemValue r = queues_.create(q, out);
        if (r == 0) std::memcpy(static_cast<void*>(&q), &out, sizeof out);
        return r;
      }
      case pm4::umq::QueueOperation::free:
        return queues_.free(q);
    }
    return refuse_(EINVAL, "USERQ: operation ", static_cast<std::uint32_t>(q.op));
  }

  const Card& card_;
  VideoMemory& video_;
  const std::uint32_t& vram_lost_;
  SyscallRefusal& refuse_;
  GemObjects gem_;
  Syncobjs syncobjs_;
  UserQueues queues_;
};

}  // namespace zrt::inline ZRT_ABI::emulator
