// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/kfd/driver.hpp: the calls of /dev/kfd in the device model.
#pragma once

#include <zrt/backend/pm4/kfd/call.hpp>
#include <zrt/emulator/kfd/queues.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// What the kernel keeps of one process, from its first call until it ends: files come and go.
class KfdDriver {
 public:
  KfdDriver(const Card& card, VideoMemory& video, ProcessMemory& process, SyscallRefusal& refuse, GridHook grids,
            const Allocator& allocator) noexcept
      : card_(card),
        refuse_(refuse),
        buffers_(card, video, process, refuse, allocator),
        events_(buffers_, refuse, allocator),
        queues_(card, buffers_, events_, refuse, grids, allocator) {}

  /// `render_of(file)` gives a number that is the same for the same open file of the render node, 0 for others.
  template <class RenderOf>
  [[nodiscard]] pm4::SystemValue call(std::uint32_t request, void* argument, RenderOf&& render_of) noexcept {
    bool known = request == pm4::kfd::kOldCreateQueue;
    for (const pm4::IoctlCall& one : pm4::kfd::kCalls) known = known || one.request == request;
    if (!known) return refuse_(ENOTTY, "ioctl ", hex(request).view(), " is none of KFD");
    if (argument == nullptr) return refuse_(EFAULT, pm4::kfd::call_name(request), ": no argument");
    switch (pm4::ioctl_number(request)) {
      case pm4::ioctl_number(pm4::kfd::kGetVersion):
        return with<pm4::kfd::GetVersion>(request, argument, [&](pm4::kfd::GetVersion& v) {
          v = {1, card_.kernel.minor};
          return pm4::SystemValue{0};
        });
      case pm4::ioctl_number(pm4::kfd::kAcquireVm):
        return with<pm4::kfd::AcquireVm>(request, argument, [&](const pm4::kfd::AcquireVm& a) {
          return acquire(a, render_of(static_cast<int>(a.drm_fd)));
        });
      case pm4::ioctl_number(pm4::kfd::kRuntimeEnable):
        return with<pm4::kfd::RuntimeEnable>(request, argument, [&](pm4::kfd::RuntimeEnable& r) {
          return r.mode_mask > 1 ? refuse_(EINVAL, "RUNTIME_ENABLE: mode ", r.mode_mask) : pm4::SystemValue{0};
        });
      case pm4::ioctl_number(pm4::kfd::kGetProcessApertures):
        return with<pm4::kfd::GetProcessApertures>(request, argument,
                                                   [&](pm4::kfd::GetProcessApertures& a) { return apertures(a); });
      case pm4::ioctl_number(pm4::kfd::kAvailableMemory):
        return with<pm4::kfd::AvailableMemory>(request, argument, [&](pm4::kfd::AvailableMemory& a) {
          if (a.gpu_id != card_.gpu_id) return refuse_(EINVAL, "AVAILABLE_MEMORY: there is no GPU ", a.gpu_id);
          a.available = buffers_.available();
          return pm4::SystemValue{0};
        });
      case pm4::ioctl_number(pm4::kfd::kAllocMemory):
        return in_vm<pm4::kfd::AllocMemory>(request, argument,
                                            [&](pm4::kfd::AllocMemory& a) { return buffers_.allocate(a); });
      case pm4::ioctl_number(pm4::kfd::kFreeMemory):
        return in_vm<pm4::kfd::FreeMemory>(
            request, argument, [&](const pm4::kfd::FreeMemory& f) { return buffers_.free(f.handle, events_.page()); });
      case pm4::ioctl_number(pm4::kfd::kMapMemory):
        return in_vm<pm4::kfd::MapMemory>(request, argument, [&](pm4::kfd::MapMemory& m) { return buffers_.map(m); });
      case pm4::ioctl_number(pm4::kfd::kUnmapMemory):
        return in_vm<pm4::kfd::MapMemory>(request, argument, [&](pm4::kfd::MapMemory& m) {
          if (const BufferObject* object = buffers_.find(m.handle))
            queues_.evict_users_of(object->address, object->bytes);
          return buffers_.unmap(m);
        });
      case pm4::ioctl_number(pm4::kfd::kCreateQueue):
        return in_vm<pm4::kfd::CreateQueue>(request, argument,
                                            [&](pm4::kfd::CreateQueue& c) { return queues_.create(c); });
      case pm4::ioctl_number(pm4::kfd::kDestroyQueue):
        return in_vm<pm4::kfd::DestroyQueue>(request, argument,
                                             [&](const pm4::kfd::DestroyQueue& d) { return queues_.destroy(d); });
      case pm4::ioctl_number(pm4::kfd::kCreateEvent):
        return with<pm4::kfd::CreateEvent>(request, argument,
                                           [&](pm4::kfd::CreateEvent& c) { return events_.create(c); });
      case pm4::ioctl_number(pm4::kfd::kDestroyEvent):
        return with<pm4::kfd::EventById>(request, argument,
                                         [&](const pm4::kfd::EventById& e) { return events_.destroy(e); });
      case pm4::ioctl_number(pm4::kfd::kSetEvent):
        return with<pm4::kfd::EventById>(request, argument,
                                         [&](const pm4::kfd::EventById& e) { return events_.set(e, true); });
      case pm4::ioctl_number(pm4::kfd::kResetEvent):
        return with<pm4::kfd::EventById>(request, argument,
                                         [&](const pm4::kfd::EventById& e) { return events_.set(e, false); });
      case pm4::ioctl_number(pm4::kfd::kWaitEvents):
        // One look: time and queues are the process's.
        return with<pm4::kfd::WaitEvents>(request, argument, [&](pm4::kfd::WaitEvents& w) {
          bool over = false;
          return events_.poll(w, over);
        });
      default:
        return refuse_(ENOTTY, pm4::kfd::call_name(request), " is not modelled");
    }
  }

  [[nodiscard]] Buffers& buffers() noexcept { return buffers_; }
  [[nodiscard]] const Buffers& buffers() const noexcept { return buffers_; }
  [[nodiscard]] Events& events() noexcept { return events_; }
  [[nodiscard]] const Events& events() const noexcept { return events_; }
  [[nodiscard]] Queues& queues() noexcept { return queues_; }
  [[nodiscard]] const Queues& queues() const noexcept { return queues_; }

 private:
  /// Takes as many bytes as the request has, the rest is 0, and gives as many back.
  template <class Arguments, class Body>
  [[nodiscard]] pm4::SystemValue with(std::uint32_t request, void* argument, Body&& body) noexcept {
    Arguments arguments{};
    const std::size_t bytes = pm4::ioctl_bytes(request);
    std::memcpy(&arguments, argument, bytes);
    const pm4::SystemValue answer = body(arguments);
    std::memcpy(argument, &arguments, bytes);
    return answer;
  }
  template <class Arguments, class Body>
  [[nodiscard]] pm4::SystemValue in_vm(std::uint32_t request, void* argument, Body&& body) noexcept {
    if (vm_ == 0) return refuse_(ESRCH, pm4::kfd::call_name(request), ": ACQUIRE_VM comes first");
    return with<Arguments>(request, argument, body);
  }

  [[nodiscard]] pm4::SystemValue acquire(const pm4::kfd::AcquireVm& a, std::uint64_t render) noexcept {
    if (a.gpu_id != card_.gpu_id) return refuse_(EINVAL, "ACQUIRE_VM: there is no GPU ", a.gpu_id);
    if (render == 0) return refuse_(EINVAL, "ACQUIRE_VM: file ", a.drm_fd, " is not the GPU's render node");
    if (vm_ != 0 && vm_ != render)
      return refuse_(EBUSY, "ACQUIRE_VM: the process has an address space from another file");
    vm_ = render;
    return 0;
  }

  [[nodiscard]] pm4::SystemValue apertures(pm4::kfd::GetProcessApertures& a) noexcept {
    if (a.num_of_nodes != 0) {
      if (a.apertures_ptr == 0) return refuse_(EFAULT, "GET_PROCESS_APERTURES_NEW: no room");
      const pm4::kfd::ProcessApertures one{.lds_base = std::uint64_t{1} << 48,
                                           .lds_limit = (std::uint64_t{1} << 48) + 0xffffffff,
                                           .scratch_base = std::uint64_t{2} << 48,
                                           .scratch_limit = (std::uint64_t{2} << 48) + 0xffffffff,
                                           .gpuvm_base = 0x4000,
                                           .gpuvm_limit = (std::uint64_t{1} << 47) - 1,
                                           .gpu_id = card_.gpu_id};
      std::memcpy(reinterpret_cast<void*>(static_cast<std::uintptr_t>(a.apertures_ptr)), &one, sizeof one);
    }
    a.num_of_nodes = 1;
    return 0;
  }

  const Card& card_;
  SyscallRefusal& refuse_;
  Buffers buffers_;
  Events events_;
  Queues queues_;
  std::uint64_t vm_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::emulator
