// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/umq/gem.hpp: buffers of one open render node on the modelled GPU, and their mappings.
#pragma once

#include <zrt/backend/pm4/umq/call.hpp>
#include <zrt/core/owned.hpp>
#include <zrt/emulator/card.hpp>
#include <zrt/emulator/memory.hpp>
#include <zrt/emulator/process_memory.hpp>
#include <zrt/emulator/refusal.hpp>
#include <zrt/emulator/video_memory.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::emulator {

/// One page of doorbells.
struct alignas(64) DoorbellPage {
  std::array<std::uint64_t, pm4::kPageBytes / 8> words{};
};

/// One buffer.
struct GemObject {
  std::uint32_t handle = 0;   ///< 0 once it is closed; doorbells stay as long as they are mapped
  std::uint64_t address = 0;  ///< for host and GPU, from its first mapping on
  std::uint64_t bytes = 0;
  pm4::umq::GemCreate made{};
  bool video = false;          ///< takes video memory; else the host's
  bool host_maps = false;      ///< the host has mapped it
  bool lost = false;           ///< a reset took what it held
  bool gpu_maps = false;       ///< the GPU's page tables name it, or will
  std::uint32_t timeline = 0;  ///< of a mapping that nobody has waited for; 0: the page tables are written
  std::uint64_t point = 0;
  std::uint32_t va_flags = 0;
  Owned<DoorbellPage> doorbells{};
};

/// The buffers, and the GPU's view of those that are mapped.
///
/// Beside what the kernel refuses it refuses what no careful program does: addresses that the process does not hold,
/// host and GPU at different addresses, mappings whose end nobody could wait for. A mapping that nobody has waited for
/// allows nothing.
class GemObjects {
 public:
  static constexpr std::uint64_t kOffsets = std::uint64_t{1} << 40;

  GemObjects(const Card& card, VideoMemory& video, ProcessMemory& process, SyscallRefusal& refuse,
             const Allocator& allocator) noexcept
      : card_(card),
        video_(video),
        process_(process),
        refuse_(refuse),
        allocator_(allocator),
        objects_(allocator),
        memory_(allocator) {}
  GemObjects(const GemObjects&) = delete;
  GemObjects& operator=(const GemObjects&) = delete;
  ~GemObjects() {
    for (const GemObject& object : objects_)
      if (object.video) video_.give_back(object.bytes);
  }

  [[nodiscard]] pm4::SystemValue create(const pm4::umq::GemCreate& c, pm4::umq::GemCreateOut& out) noexcept {
    if (c.bo_size == 0 || c.bo_size > std::uint64_t{1} << 46)
      return refuse_(EINVAL, "GEM_CREATE: ", c.bo_size, " bytes");
    if ((c.domain_flags & ~(pm4::umq::kCpuAccessRequired | pm4::umq::kNoCpuAccess)) != 0)
      return refuse_(EINVAL, "GEM_CREATE: flags ", hex(c.domain_flags).view(), " are not modelled");
    if ((c.alignment & (c.alignment - 1)) != 0)
      return refuse_(EINVAL, "GEM_CREATE: an alignment of ", c.alignment, ", a power of two expected");
    GemObject object;
    object.made = c;
    object.bytes = align_up(c.bo_size, pm4::kPageBytes);
    switch (c.domains) {
      case pm4::umq::kDomainVram:
        // Full video memory is no error: the driver takes the host's.
        object.video = ((c.domain_flags & pm4::umq::kCpuAccessRequired) == 0 || object.bytes <= visible_left()) &&
                       video_.take(object.bytes);
        break;
      case pm4::umq::kDomainGtt:
        break;
      case pm4::umq::kDomainDoorbell: {
        if (object.bytes != pm4::kPageBytes || c.domain_flags != 0)
          return refuse_(EINVAL, "GEM_CREATE: doorbells are one page without flags");
        auto page = Owned<DoorbellPage>::make(allocator_);
        if (!page) return refuse_(ENOMEM, "GEM_CREATE: the model has no memory");
        object.doorbells = std::move(*page);
        break;
      }
      default:
        return refuse_(EINVAL, "GEM_CREATE: domains ", hex(c.domains).view(), ", one of GTT, VRAM, doorbells expected");
    }
    object.handle = next_;
    const bool video = object.video;
    const std::uint64_t bytes = object.bytes;
    if (!objects_.push_back(std::move(object))) {
      if (video) video_.give_back(bytes);
      return refuse_(ENOMEM, "GEM_CREATE: the model has no memory");
    }
    out = {.handle = next_++};
    return 0;
  }

  [[nodiscard]] pm4::SystemValue close(const pm4::umq::GemClose& c) noexcept {
    GemObject* const object = find(c.handle);
    if (object == nullptr || c.pad != 0) return refuse_(EINVAL, "GEM_CLOSE: there is no buffer ", c.handle);
    if (object->gpu_maps)
      return refuse_(EBUSY, "GEM_CLOSE: buffer ", c.handle, " at ", hex(object->address).view(), " is still mapped");
    if (object->video) video_.give_back(object->bytes);
    object->video = false;
    object->handle = 0;
    if (object->doorbells && object->host_maps) return 0;
    erase(*object);
    return 0;
  }

  [[nodiscard]] pm4::SystemValue offset(pm4::umq::GemMmap& m) noexcept {
    const GemObject* const object =
        m.handle_or_offset <= 0xffffffffu ? find(static_cast<std::uint32_t>(m.handle_or_offset)) : nullptr;
    if (object == nullptr) return refuse_(ENOENT, "GEM_MMAP: there is no buffer ", m.handle_or_offset);
    if ((object->made.domain_flags & pm4::umq::kNoCpuAccess) != 0)
      return refuse_(EPERM, "GEM_MMAP: buffer ", object->handle, " was made without access of the host");
    m.handle_or_offset = kOffsets + object->handle * (std::uint64_t{1} << 24);
    return 0;
  }

  /// The host maps a buffer: at its address, doorbells where they are.
  [[nodiscard]] pm4::SystemValue map_for_host(const pm4::MapRequest& m) noexcept {
    GemObject* const object = find_offset(m.offset);
    if (object == nullptr) return refuse_(EINVAL, "mmap: no buffer has the offset ", hex(m.offset).view());
    if (m.bytes != object->bytes)
      return refuse_(EINVAL, "mmap: ", m.bytes, " bytes of a buffer that has ", object->bytes);
    if (object->doorbells) {
      if (m.address != 0 || object->host_maps)
        return refuse_(EINVAL, "mmap: doorbells are mapped once, where they are");
      object->host_maps = true;
      return static_cast<pm4::SystemValue>(page_address(*object));
    }
    if (const pm4::SystemValue r = place(*object, m.address, "mmap"); r != 0) return r;
    object->host_maps = true;
    return static_cast<pm4::SystemValue>(m.address);
  }
  /// Whether doorbells have that offset in the render node's file.
  [[nodiscard]] bool are_doorbells(std::uint64_t offset) noexcept {
    const GemObject* const object = find_offset(offset);
    return object != nullptr && object->doorbells;
  }
  /// Takes doorbells from the host that lie there; false where none do.
  [[nodiscard]] bool unmap_doorbells(std::uint64_t address, std::uint64_t bytes) noexcept {
    for (GemObject& object : objects_) {
      if (!object.doorbells || !object.host_maps || page_address(object) != address || bytes != pm4::kPageBytes)
        continue;
      object.host_maps = false;
      if (object.handle == 0) erase(object);
      return true;
    }
    return false;
  }

  [[nodiscard]] pm4::SystemValue map(const pm4::umq::GemVa& v) noexcept {
    constexpr std::uint32_t known = pm4::umq::kVaRead | pm4::umq::kVaWrite | pm4::umq::kVaExecute | 0xfu << 5;
    GemObject* const object = find(v.handle);
    if (object == nullptr || object->doorbells)
      return refuse_(ENOENT, "GEM_VA: there is no buffer ", v.handle, " that the GPU could map");
    if ((v.flags & ~known) != 0) return refuse_(EINVAL, "GEM_VA: flags ", hex(v.flags & ~known).view());
    // What Coherence takes for granted: memory of the host is never in a cache of the GPU.
    const std::uint32_t type = v.flags & 0xfu << 5;
    if (type != pm4::umq::kVaUncached && (type != 0 || object->made.domains != pm4::umq::kDomainVram))
      return refuse_(
          EINVAL, "GEM_VA: memory type ", type >> 5, " of ",
          object->made.domains == pm4::umq::kDomainVram ? "VRAM, 0 or 4 expected" : "GTT, 4 (uncached) expected");
    if (v.map_size == 0 || (v.va_address | v.map_size | v.offset_in_bo) % pm4::kPageBytes != 0)
      return refuse_(EINVAL, "GEM_VA: ", v.map_size, " bytes at ", hex(v.va_address).view(), ", whole pages expected");
    if (v.offset_in_bo != 0 || v.map_size != object->bytes)
      return refuse_(EINVAL, "GEM_VA: a buffer of ", object->bytes, " bytes is mapped in part");
    if (object->gpu_maps) return refuse_(EINVAL, "GEM_VA: buffer ", v.handle, " is mapped");
    if (const pm4::SystemValue r = place(*object, v.va_address, "GEM_VA"); r != 0) return r;
    const Name name = Name::of(object->made.domains == pm4::umq::kDomainVram ? "VRAM " : "GTT ", object->handle);
    const auto mapped =
        memory_.map(v.va_address, ProcessMemory::bytes(v.va_address, v.map_size), Permission::none, name.view());
    if (!mapped)
      return refuse_(mapped.error().code() == Errc::out_of_memory ? ENOMEM : EINVAL, "GEM_VA: ", mapped.error().text());
    object->gpu_maps = true;
    object->timeline = v.vm_timeline_syncobj_out;
    object->point = v.vm_timeline_point;
    object->va_flags = v.flags;
    return 0;
  }

  [[nodiscard]] pm4::SystemValue unmap(const pm4::umq::GemVa& v) noexcept {
    GemObject* const object = find(v.handle);
    if (object == nullptr || !object->gpu_maps || object->address != v.va_address)
      return refuse_(ENOENT, "GEM_VA: no mapping of buffer ", v.handle, " begins at ", hex(v.va_address).view());
    (void)memory_.unmap(v.va_address);
    object->gpu_maps = false;
    object->timeline = 0;
    return 0;
  }

  /// The timeline has reached that point: what was mapped until then is there. False where the model has no memory.
  [[nodiscard]] bool reached(std::uint32_t timeline, std::uint64_t point) noexcept {
    for (GemObject& object : objects_) {
      if (timeline == 0 || object.timeline != timeline || object.point > point) continue;
      object.timeline = 0;
      Permission permission = Permission::none;
      if ((object.va_flags & pm4::umq::kVaRead) != 0) permission = permission | Permission::read;
      if ((object.va_flags & pm4::umq::kVaWrite) != 0) permission = permission | Permission::write;
      if ((object.va_flags & pm4::umq::kVaExecute) != 0) permission = permission | Permission::execute;
      const Name name = memory_.find(object.address, 1)->name;
      (void)memory_.unmap(object.address);
      const HostView host = object.made.domains == pm4::umq::kDomainGtt                ? HostView::memory
                            : (object.made.domain_flags & pm4::umq::kNoCpuAccess) != 0 ? HostView::none
                                                                                       : HostView::bar;
      if (!memory_.map(object.address, ProcessMemory::bytes(object.address, object.bytes), permission, name.view(),
                       host))
        return false;
    }
    return true;
  }
  /// Whether some mapping will reach that point.
  [[nodiscard]] bool will_reach(std::uint32_t timeline, std::uint64_t point) const noexcept {
    for (const GemObject& object : objects_)
      if (object.gpu_maps && object.timeline == timeline && object.point >= point) return true;
    return false;
  }

  /// Video memory holds anything from now on.
  void lose_video() noexcept {
    for (GemObject& object : objects_) {
      if (object.address == 0 || object.made.domains != pm4::umq::kDomainVram) continue;
      object.lost = true;
      const auto bytes = ProcessMemory::bytes(object.address, object.bytes);
      std::memset(bytes.data(), kLostVideo, bytes.size());
    }
  }

  /// A buffer that a reset emptied and that is still open, or null.
  [[nodiscard]] const GemObject* lost() const noexcept {
    for (const GemObject& object : objects_)
      if (object.lost) return &object;
    return nullptr;
  }
  [[nodiscard]] GemObject* find(std::uint32_t handle) noexcept {
    for (GemObject& object : objects_)
      if (handle != 0 && object.handle == handle) return &object;
    return nullptr;
  }
  /// The buffer whose mapping has that address, also one that is not waited for; or null.
  [[nodiscard]] const GemObject* mapped_over(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const GemObject& object : objects_)
      if (object.gpu_maps && address >= object.address && address - object.address <= object.bytes &&
          bytes <= object.bytes - (address - object.address))
        return &object;
    return nullptr;
  }
  /// Whether some of the range belongs to a buffer that is not closed.
  [[nodiscard]] bool lives_in(std::uint64_t address, std::uint64_t bytes) const noexcept {
    for (const GemObject& object : objects_)
      if (object.address != 0 && object.address < address + bytes && address < object.address + object.bytes)
        return true;
    return false;
  }

  /// Of the card's video memory, what the host sees through the BAR.
  [[nodiscard]] std::uint64_t visible() const noexcept { return card_.large_bar ? video_.total() : video_.total() / 4; }
  [[nodiscard]] std::uint64_t visible_left() const noexcept {
    return visible() > video_.used() ? visible() - video_.used() : 0;
  }

  [[nodiscard]] const AddressSpace& memory() const noexcept { return memory_; }
  [[nodiscard]] std::size_t count() const noexcept { return objects_.size(); }
  [[nodiscard]] std::size_t doorbells_mapped() const noexcept {
    std::size_t mapped = 0;
    for (const GemObject& object : objects_) mapped += object.doorbells && object.host_maps;
    return mapped;
  }

 private:
  static constexpr int kLostVideo = 0xcc;

  [[nodiscard]] static std::uint64_t page_address(const GemObject& object) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object.doorbells->words.data()));
  }

  [[nodiscard]] GemObject* find_offset(std::uint64_t offset) noexcept {
    constexpr std::uint64_t step = std::uint64_t{1} << 24;
    if (offset < kOffsets || (offset - kOffsets) % step != 0) return nullptr;
    return find(static_cast<std::uint32_t>((offset - kOffsets) / step));
  }
  /// Binds a buffer to its address, which its first mapping says.
  [[nodiscard]] pm4::SystemValue place(GemObject& object, std::uint64_t address, std::string_view what) noexcept {
    if (object.address == 0) {
      if (!process_.holds(address, object.bytes))
        return refuse_(EINVAL, what, ": the process does not hold the ", object.bytes, " addresses at ",
                       hex(address).view());
      object.address = address;
      const auto bytes = ProcessMemory::bytes(address, object.bytes);
      std::memset(bytes.data(), object.made.domains == pm4::umq::kDomainVram ? kLostVideo : 0, bytes.size());
    }
    if (object.address != address)
      return refuse_(EINVAL, what, ": buffer ", object.handle, " at ", hex(address).view(), " and at ",
                     hex(object.address).view(), "; one address for host and GPU is modelled");
    return 0;
  }
  void erase(GemObject& object) noexcept {
    if (&object != &objects_.back()) object = std::move(objects_.back());
    objects_.pop_back();
  }

  const Card& card_;
  VideoMemory& video_;
  ProcessMemory& process_;
  SyscallRefusal& refuse_;
  Allocator allocator_;
  Vector<GemObject> objects_;
  AddressSpace memory_;
  std::uint32_t next_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::emulator
