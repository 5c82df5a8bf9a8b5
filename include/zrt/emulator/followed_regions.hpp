// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/followed_regions.hpp: what is remembered of each region of memory that a queue's packets order.
#pragma once

#include <zrt/emulator/group_stamps.hpp>
#include <zrt/emulator/read_stamps.hpp>
#include <zrt/emulator/write_stamps.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// What is remembered of a region, and of the running dispatch there.
struct FollowedRegion {
  RegionStamps stamps{};
  std::uint8_t written = 0;  ///< by the running dispatch
  std::uint8_t suspect = 0;  ///< a bit for each cache through which the running dispatch may see too little
  bool racy = false;         ///< an earlier dispatch may still write or read here
  bool keeps_reads = false;  ///< of the running dispatch
  std::uint32_t newest_read = 0;
  ReadStamps reads{};
  GroupStamps groups{};
};

/// The regions of an address space as they were mapped last, by MappedRegion::id.
class FollowedRegions {
 public:
  explicit FollowedRegions(const Allocator& allocator) noexcept : allocator_(allocator), regions_(allocator) {}

  [[nodiscard]] FollowedRegion* begin() noexcept { return regions_.begin(); }
  [[nodiscard]] FollowedRegion* end() noexcept { return regions_.end(); }
  /// The region of that id, which is followed.
  [[nodiscard]] FollowedRegion& operator[](const MappedRegion& region) noexcept { return regions_[region.id]; }
  [[nodiscard]] const FollowedRegion& operator[](const MappedRegion& region) const noexcept {
    return regions_[region.id];
  }
  [[nodiscard]] bool has(const MappedRegion& region) const noexcept { return region.id < regions_.size(); }
  /// The same region as it was when it was last looked at, null where there is none.
  [[nodiscard]] FollowedRegion* find(const MappedRegion* region) noexcept {
    return is_same(region) ? &regions_[region->id] : nullptr;
  }
  [[nodiscard]] const FollowedRegion* find(const MappedRegion* region) const noexcept {
    return is_same(region) ? &regions_[region->id] : nullptr;
  }

  /// Follows the regions as they are mapped now; one that is new was written by the host, at moment `published`. Errors:
  /// out_of_memory.
  [[nodiscard]] Result<void> adopt(const AddressSpace& memory, std::uint32_t published) noexcept {
    if (regions_.size() < memory.ids())
      if (auto r = regions_.resize(memory.ids()); !r) return r;
    for (const MappedRegion& region : memory.regions()) {
      FollowedRegion& f = regions_[region.id];
      if (f.stamps.serial() == region.serial) continue;
      f = {};
      f.groups = GroupStamps(allocator_);
      f.stamps.adopt(region, host_stamp(region, published));
    }
    return {};
  }
  /// Finds what the host has written until moment `published`, in the regions that it sees; all are followed. Errors:
  /// out_of_memory.
  [[nodiscard]] Result<void> find_host_writes(const AddressSpace& memory, std::uint32_t published) noexcept {
    for (const MappedRegion& region : memory.regions()) {
      if (region.host == HostView::none) continue;
      const WriteStamp stamp = host_stamp(region, published);
      if (auto r = regions_[region.id].stamps.find_host_writes(stamp, allocator_); !r) return r;
    }
    return {};
  }
  /// What the GPU has written behind moment `before` is known: what differs from now on is the host's.
  void follow_gpu(const AddressSpace& memory, std::uint32_t before) noexcept {
    for (const MappedRegion& region : memory.regions())
      if (FollowedRegion* const f = region.host == HostView::none ? nullptr : find(&region))
        f->stamps.follow_gpu(before);
  }

 private:
  [[nodiscard]] bool is_same(const MappedRegion* region) const noexcept {
    return region != nullptr && has(*region) && regions_[region->id].stamps.serial() == region->serial;
  }
  [[nodiscard]] static WriteStamp host_stamp(const MappedRegion& region, std::uint32_t published) noexcept {
    if (region.host == HostView::none) return {};
    return {region.host == HostView::bar ? Writer::host_by_bar : Writer::host, published};
  }

  Allocator allocator_;
  Vector<FollowedRegion> regions_;
};

}  // namespace zrt::inline ZRT_ABI::emulator
