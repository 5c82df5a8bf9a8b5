// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/umq/syncobjs.hpp: timelines of one open render node in the device model.
#pragma once

#include <zrt/emulator/umq/gem.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Sync objects whose points are reached when somebody waits for them: nothing in the model runs by itself.
class Syncobjs {
 public:
  Syncobjs(GemObjects& gem, SyscallRefusal& refuse, const Allocator& allocator) noexcept
      : gem_(gem), refuse_(refuse), live_(allocator) {}

  [[nodiscard]] pm4::SystemValue create(pm4::umq::SyncobjCreate& c) noexcept {
    if (c.flags != 0) return refuse_(EINVAL, "SYNCOBJ_CREATE: flags ", c.flags, " are not modelled");
    if (!live_.push_back(next_)) return refuse_(ENOMEM, "SYNCOBJ_CREATE: the model has no memory");
    c.handle = next_++;
    return 0;
  }
  [[nodiscard]] pm4::SystemValue destroy(const pm4::umq::SyncobjDestroy& d) noexcept {
    std::uint32_t* const handle = find(d.handle);
    if (handle == nullptr || d.pad != 0) return refuse_(EINVAL, "SYNCOBJ_DESTROY: there is no sync object ", d.handle);
    *handle = live_.back();
    live_.pop_back();
    return 0;
  }

  [[nodiscard]] pm4::SystemValue wait(const pm4::umq::SyncobjTimelineWait& w, std::uint64_t now) noexcept {
    if ((w.flags & ~std::uint32_t{pm4::umq::kWaitAll | pm4::umq::kWaitForSubmit}) != 0 || w.pad != 0)
      return refuse_(EINVAL, "SYNCOBJ_TIMELINE_WAIT: flags ", w.flags);
    if (w.count_handles != 1)
      return refuse_(EINVAL, "SYNCOBJ_TIMELINE_WAIT: ", w.count_handles, " handles, one is modelled");
    if (w.handles == 0 || w.points == 0) return refuse_(EFAULT, "SYNCOBJ_TIMELINE_WAIT: no handles or points");
    std::uint32_t handle = 0;
    std::uint64_t point = 0;
    std::memcpy(&handle, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(w.handles)), sizeof handle);
    std::memcpy(&point, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(w.points)), sizeof point);
    if (find(handle) == nullptr) return refuse_(ENOENT, "SYNCOBJ_TIMELINE_WAIT: there is no sync object ", handle);
    if (w.timeout_nsec < 0 || static_cast<std::uint64_t>(w.timeout_nsec) <= now)
      return refuse_(ETIME, "SYNCOBJ_TIMELINE_WAIT: the time is over; it is a point of the clock, not a span");
    if (!gem_.will_reach(handle, point))
      return (w.flags & pm4::umq::kWaitForSubmit) != 0
                 ? refuse_(ETIME, "SYNCOBJ_TIMELINE_WAIT: nothing will reach point ", point)
                 : refuse_(EINVAL, "SYNCOBJ_TIMELINE_WAIT: nothing was submitted for point ", point);
    return gem_.reached(handle, point) ? 0 : refuse_(ENOMEM, "SYNCOBJ_TIMELINE_WAIT: the model has no memory");
  }

  [[nodiscard]] bool has(std::uint32_t handle) noexcept { return find(handle) != nullptr; }
  [[nodiscard]] std::size_t count() const noexcept { return live_.size(); }

 private:
  [[nodiscard]] std::uint32_t* find(std::uint32_t handle) noexcept {
    for (std::uint32_t& live : live_)
      if (live == handle) return &live;
    return nullptr;
  }

  GemObjects& gem_;
  SyscallRefusal& refuse_;
  Vector<std::uint32_t> live_;
  std::uint32_t next_ = 1;
};

}  // namespace zrt::inline ZRT_ABI::emulator
