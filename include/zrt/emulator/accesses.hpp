// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/accesses.hpp: addresses of a wave's memory instruction, and the bytes behind them.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/emulator/lanes.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// The address spaces of vector memory instructions.
enum class Segment : u8 { flat, global, scratch, local };

/// What the address of a vector load or store of so many bytes is a multiple of. Drivers set their queues to take any
/// address (SH_MEM_CONFIG.ALIGNMENT_MODE), which no call of theirs tells; else a card drops the low bits. So the modelled
/// queues want the size of the access or a word, and of local memory, where a wide access is one only by that mode, all
/// of the size.
[[nodiscard]] inline unsigned alignment_of(const Wave& w, Segment segment, unsigned bytes) noexcept {
  if (w.group->any_address) return 1;
  const unsigned whole = std::bit_ceil(bytes);
  return segment == Segment::local || whole < 4 ? whole : 4;
}

/// Local memory at `address`, or null where the workgroup has none there.
[[nodiscard]] inline std::byte* local_memory(Wave& w, u64 address, u64 bytes) noexcept {
  const Span<std::byte> lds = w.group->lds;
  return address <= lds.size() && bytes <= lds.size() - address ? lds.data() + address : nullptr;
}

/// The bytes of a lane's word at `offset` of its scratch: words of all lanes lie side by side.
[[nodiscard]] constexpr u64 scratch_address(u64 base, u32 lanes, u32 lane, u64 offset) noexcept {
  return base + (offset / 4 * lanes + lane) * 4 + offset % 4;
}

/// Finds the region of an access, the wave's last one first; null where nothing is mapped or permitted.
[[nodiscard]] inline const MappedRegion* region_of(Wave& w, u64 address, u64 bytes, Permission wanted) noexcept {
  const MappedRegion* region = w.last_region;
  if (region == nullptr || !region->contains(address, bytes)) {
    region = w.group->memory->find(address, bytes);
    if (region == nullptr) return nullptr;
    w.last_region = region;
  }
  return allows(region->permission, wanted) ? region : nullptr;
}

/// Whether the order of the queue's packets lets the wave read those bytes; else the wave's error says why not.
[[nodiscard]] inline bool is_read_ordered(Wave& w, const MappedRegion& region, u64 address, u64 bytes,
                                          Cache cache) noexcept {
  if (w.group->coherence == nullptr || !w.group->coherence->suspects(region, cache)) [[likely]]
    return true;
  const auto checked = w.group->coherence->check_read(region, address, bytes, cache, w.group->number);
  if (checked) return true;
  w.error = checked.error();
  w.unordered = true;
  return false;
}
/// The same before the wave writes.
[[nodiscard]] inline bool is_write_ordered(Wave& w, const MappedRegion& region, u64 address, u64 bytes,
                                           MemoryUse use = MemoryUse::write) noexcept {
  if (w.group->coherence == nullptr) return true;
  const auto noted = w.group->coherence->note_write(region, address, bytes, w.group->number, use);
  if (noted) [[likely]]
    return true;
  w.error = noted.error();
  w.unordered = true;
  return false;
}
/// The same for a vector access of either kind.
[[nodiscard]] inline bool is_ordered(Wave& w, const MappedRegion& region, u64 address, u64 bytes, bool store) noexcept {
  return store ? is_write_ordered(w, region, address, bytes)
               : is_read_ordered(w, region, address, bytes, Cache::vector);
}

/// The addresses of all lanes, in one pass: where they lie, and what of them follows each other.
struct AddressSpread {
  u64 low = 0, high = 0;
  u64 bits = 0;          ///< that some address has
  unsigned repeats = 0;  ///< lanes with the address of the lane before
  unsigned runs = 1;     ///< of lanes that lie side by side

  AddressSpread(const u64* address, unsigned bytes) noexcept
      : low(address[0]), high(address[kLanes - 1]), bits(address[0]) {
    u64 backwards = 0;
    for (unsigned i = 1; i < kLanes; ++i) {
      const u64 step = address[i] - address[i - 1];
      backwards |= step;
      bits |= address[i];
      repeats += step == 0 ? 1u : 0u;
      runs += step != 0 && step != bytes ? 1u : 0u;
    }
    if (backwards >> 63 == 0) [[likely]]
      return;
    for (unsigned i = 0; i < kLanes; ++i) {
      low = address[i] < low ? address[i] : low;
      high = address[i] > high ? address[i] : high;
    }
  }
};

/// Counts an access of `bytes` per lane; lanes come in ascending order.
class TrafficMeter {
 public:
  TrafficMeter(Wave& w, unsigned bytes, bool store) noexcept : wave_(w), bytes_(bytes), store_(store) {}
  void lane(const MappedRegion* region, u64 address) noexcept {
    if (region != region_) {
      flush();
      region_ = region;
      next_ = ~u64{0};
    }
    if (address == previous_ && next_ != ~u64{0}) return;
    if (address != next_) ++runs_;
    total_ += bytes_;
    previous_ = address;
    next_ = address + bytes_;
  }
  /// All 32 lanes at once, in one region.
  void all(const MappedRegion* region, const AddressSpread& spread) noexcept {
    region_ = region;
    total_ = u64{kLanes - spread.repeats} * bytes_;
    runs_ = spread.runs;
  }
  void flush() noexcept {
    if (region_ == nullptr || region_->id >= wave_.group->counters->regions.size()) return;
    RegionTraffic& t = wave_.group->counters->regions[region_->id];
    if (store_) {
      t.bytes_written += total_;
    } else {
      t.bytes_read += total_;
      ++t.loads;
      t.load_runs += runs_;
    }
    total_ = runs_ = 0;
  }

 private:
  Wave& wave_;
  unsigned bytes_;
  bool store_;
  const MappedRegion* region_ = nullptr;
  u64 previous_ = ~u64{0}, next_ = ~u64{0}, total_ = 0, runs_ = 0;
};

/// Says why the lane's address cannot be reached.
ZRT_NOINLINE inline Flow memory_fault(Wave& w, const Decoded& d, u64 address, u64 bytes, bool store,
                                      unsigned lane) noexcept {
  if (w.unordered) {
    const Error why = w.error;
    return fault(w, d, why.code(), why.text());
  }
  const MappedRegion* region = w.group->memory->find(address, bytes);
  const Name at = hex(address);
  w.fault = {address, bytes, store ? Permission::write : Permission::read, region != nullptr};
  return fault(w, d, Errc::spec_violation, store ? "writes " : "reads ", bytes, " bytes at ", at.view(),
               region == nullptr ? ", which is not mapped, in lane " : ", which its region forbids, in lane ", lane);
}

/// Says which address is not aligned.
ZRT_NOINLINE inline Flow misaligned(Wave& w, const Decoded& d, u64 address, unsigned alignment,
                                    unsigned lane) noexcept {
  const Name at = hex(address);
  return fault(w, d, Errc::spec_violation, "the address ", at.view(), " is not aligned to ", alignment, ", in lane ",
               lane);
}

}  // namespace zrt::inline ZRT_ABI::emulator
