// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/kfd/buffers.hpp: memory that a process has allocated on the modelled GPU.
#pragma once

#include <zrt/backend/pm4/kfd/abi.hpp>
#include <zrt/emulator/card.hpp>
#include <zrt/emulator/memory.hpp>
#include <zrt/emulator/process_memory.hpp>
#include <zrt/emulator/refusal.hpp>
#include <zrt/emulator/video_memory.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::emulator {

/// One allocation.
struct BufferObject {
  std::uint64_t handle = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t flags = 0;
  bool mapped = false;  ///< for the GPU
  bool lost = false;    ///< a reset took what it held
};

/// The allocations, and the GPU's view of those that are mapped.
///
/// Beside what the kernel refuses it refuses what no careful program does: addresses that the process does not hold,
/// fields that are not 0 where they should be.
class Buffers {
 public:
  Buffers(const Card& card, VideoMemory& video, ProcessMemory& process, SyscallRefusal& refuse,
          const Allocator& allocator) noexcept
      : card_(card), video_(video), process_(process), refuse_(refuse), objects_(allocator), memory_(allocator) {}

  [[nodiscard]] pm4::SystemValue allocate(pm4::kfd::AllocMemory& a) noexcept {
    constexpr std::uint32_t places = pm4::kfd::kVram | pm4::kfd::kGtt;
    constexpr std::uint32_t others = pm4::kfd::kUserptr | pm4::kfd::kDoorbell | pm4::kfd::kMmioRemap;
    constexpr std::uint32_t layouts = pm4::kfd::kContiguous | pm4::kfd::kExtCoherent | pm4::kfd::kAqlQueueMemory;
    constexpr std::uint32_t past_caches = pm4::kfd::kUncached | pm4::kfd::kCoherent;
    constexpr std::uint32_t known = places | others | layouts | past_caches | pm4::kfd::kNoSubstitute |
                                    pm4::kfd::kPublic | pm4::kfd::kExecutable | pm4::kfd::kWritable;
    if (a.handle != 0) return refuse_(EINVAL, "ALLOC: handle is ", a.handle, " before the call, 0 expected");
    if (a.gpu_id != card_.gpu_id) return refuse_(EINVAL, "ALLOC: there is no GPU ", a.gpu_id);
    if (a.size == 0 || a.size % pm4::kPageBytes != 0 || a.va_addr % pm4::kPageBytes != 0)
      return refuse_(EINVAL, "ALLOC: ", a.size, " bytes at ", hex(a.va_addr).view(), ", whole pages expected");
    if ((a.flags & ~known) != 0) return refuse_(EINVAL, "ALLOC: unknown flags ", hex(a.flags & ~known).view());
    if ((a.flags & layouts) != 0)
      return refuse_(EINVAL, "ALLOC: CONTIGUOUS, EXT_COHERENT and AQL_QUEUE_MEM are not modelled");
    if ((a.flags & others) != 0) return refuse_(EINVAL, "ALLOC: of VRAM and GTT alone is modelled");
    const bool video = (a.flags & places) == pm4::kfd::kVram;
    if (!video && (a.flags & places) != pm4::kfd::kGtt)
      return refuse_(EINVAL, "ALLOC: VRAM or GTT expected in the flags");
    // What Coherence takes for granted: memory of the host is never in a cache of the GPU, video memory may be.
    if ((a.flags & past_caches) != (video ? 0u : past_caches))
      return refuse_(EINVAL,
                     video ? "ALLOC: VRAM that is COHERENT or UNCACHED is not modelled"
                           : "ALLOC: GTT is COHERENT and UNCACHED, or the GPU's caches hide what the host writes");
    if (a.mmap_offset != 0) return refuse_(EINVAL, "ALLOC: mmap_offset goes in for user pointers alone");
    if (video && (a.flags & pm4::kfd::kPublic) != 0 && !card_.large_bar)
      return refuse_(EINVAL, "ALLOC: host visible VRAM needs a large BAR");
    if (!process_.holds(a.va_addr, a.size))
      return refuse_(EINVAL, "ALLOC: the process does not hold the ", a.size, " addresses at ", hex(a.va_addr).view());
    if (video && a.size > available())
      return refuse_(ENOMEM, "ALLOC: ", a.size, " bytes of VRAM, ", available(), " are left");
    const BufferObject object{next_, a.va_addr, a.size, a.flags, false, false};
    if (!objects_.push_back(object)) return refuse_(ENOMEM, "ALLOC: the model has no memory");
    ++next_;
    if (video) (void)video_.take(a.size);
    const auto bytes = ProcessMemory::bytes(a.va_addr, a.size);
    std::memset(bytes.data(), video ? kLostVideo : 0, bytes.size());
    a.handle = object.handle;
    a.mmap_offset = object.handle * pm4::kPageBytes;
    return 0;
  }

  [[nodiscard]] pm4::SystemValue free(std::uint64_t handle, std::uint64_t event_page) noexcept {
    BufferObject* const object = find(handle);
    if (object == nullptr) return refuse_(EINVAL, "FREE: there is no memory with handle ", handle);
    if (handle == event_page) return refuse_(EPERM, "FREE: the event page stays until the process ends");
    if (object->mapped) return refuse_(EBUSY, "FREE: memory at ", hex(object->address).view(), " is still mapped");
    if ((object->flags & pm4::kfd::kVram) != 0) video_.give_back(object->bytes);
    *object = objects_.back();
    objects_.pop_back();
    return 0;
  }

  [[nodiscard]] pm4::SystemValue map(pm4::kfd::MapMemory& m) noexcept {
    BufferObject* object = nullptr;
    if (const pm4::SystemValue r = check(m, "MAP", object); r != 0) return r;
    if (!object->mapped) {
      const std::uint32_t flags = object->flags;
      Permission permission = Permission::read;
      if ((flags & pm4::kfd::kWritable) != 0) permission = permission | Permission::write;
      if ((flags & pm4::kfd::kExecutable) != 0) permission = permission | Permission::execute;
      const auto mapped = memory_.map(
          object->address, ProcessMemory::bytes(object->address, object->bytes), permission,
          Name::of((flags & pm4::kfd::kVram) != 0 ? "VRAM " : "GTT ", static_cast<unsigned>(object->handle)).view(),
          (flags & pm4::kfd::kVram) == 0     ? HostView::memory
          : (flags & pm4::kfd::kPublic) != 0 ? HostView::bar
                                             : HostView::none);
      if (!mapped)
        return refuse_(mapped.error().code() == Errc::out_of_memory ? ENOMEM : EINVAL, "MAP: ", mapped.error().text());
      object->mapped = true;
    }
    m.n_success = 1;
    return 0;
  }

  [[nodiscard]] pm4::SystemValue unmap(pm4::kfd::MapMemory& m) noexcept {
    BufferObject* object = nullptr;
    if (const pm4::SystemValue r = check(m, "UNMAP", object); r != 0) return r;
    if (object->mapped) (void)memory_.unmap(object->address);
    object->mapped = false;
    m.n_success = 1;
    return 0;
  }

  /// Video memory holds anything from now on.
  void lose_video() noexcept {
    for (BufferObject& object : objects_)
      if ((object.flags & pm4::kfd::kVram) != 0) {
        object.lost = true;
        const auto bytes = ProcessMemory::bytes(object.address, object.bytes);
        std::memset(bytes.data(), kLostVideo, bytes.size());
      }
  }

  /// Memory that a reset emptied and that is still allocated, or null.
  [[nodiscard]] const BufferObject* lost() const noexcept {
    for (const BufferObject& object : objects_)
      if (object.lost) return &object;
    return nullptr;
  }

  /// The host maps the memory at its own address.
  [[nodiscard]] pm4::SystemValue map_for_host(const pm4::MapRequest& m) noexcept {
    BufferObject* const object = m.offset % pm4::kPageBytes == 0 ? find(m.offset / pm4::kPageBytes) : nullptr;
    if (object == nullptr) return refuse_(EINVAL, "mmap: no memory has the offset ", hex(m.offset).view());
    if (m.bytes != object->bytes || m.address != object->address)
      return refuse_(EINVAL, "mmap: ", m.bytes, " bytes at ", hex(m.address).view(), " of memory that has ",
                     object->bytes, " at ", hex(object->address).view());
    if ((object->flags & pm4::kfd::kVram) != 0 && (object->flags & pm4::kfd::kPublic) == 0)
      return refuse_(EPERM, "mmap: VRAM that was not allocated PUBLIC");
    return static_cast<pm4::SystemValue>(object->address);
  }

  [[nodiscard]] BufferObject* find(std::uint64_t handle) noexcept {
    for (BufferObject& object : objects_)
      if (object.handle == handle) return &object;
    return nullptr;
  }
  /// The memory that is mapped for the GPU and begins at that address, or null.
  [[nodiscard]] const BufferObject* mapped_at(std::uint64_t address) const noexcept {
    for (const BufferObject& object : objects_)
      if (object.mapped && object.address == address) return &object;
    return nullptr;
  }
  /// Whether some of the range belongs to memory that is not freed.
  [[nodiscard]] bool lives_in(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const BufferObject& object : objects_)
      if (object.address < address + bytes && address < object.address + object.bytes) return true;
    return false;
  }

  [[nodiscard]] const AddressSpace& memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t count() const noexcept { return objects_.size(); }
  [[nodiscard]] std::uint64_t available() const noexcept { return video_.available(); }

 private:
  static constexpr int kLostVideo = 0xcc;

  [[nodiscard]] pm4::SystemValue check(const pm4::kfd::MapMemory& m, std::string_view what,
                                       BufferObject*& object) noexcept {
    if (m.n_devices != 1 || m.device_ids_array_ptr == 0)
      return refuse_(EINVAL, what, ": ", m.n_devices, " GPUs are listed, the machine has 1");
    if (m.n_success != 0) return refuse_(EINVAL, what, ": n_success is ", m.n_success, " before the call, 0 expected");
    std::uint32_t id = 0;
    std::memcpy(&id, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(m.device_ids_array_ptr)), sizeof id);
    if (id != card_.gpu_id) return refuse_(EINVAL, what, ": there is no GPU ", id);
    object = find(m.handle);
    if (object == nullptr) return refuse_(EINVAL, what, ": there is no memory with handle ", m.handle);
    return 0;
  }

  const Card& card_;
  VideoMemory& video_;
  ProcessMemory& process_;
  SyscallRefusal& refuse_;
  Vector<BufferObject> objects_;
  AddressSpace memory_;
  std::uint64_t next_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::emulator
