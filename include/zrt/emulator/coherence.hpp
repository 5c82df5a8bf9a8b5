// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/coherence.hpp: what the packets of a queue let its dispatches and the host see.
#pragma once

#include <zrt/core/mutex.hpp>
#include <zrt/emulator/followed_regions.hpp>
#include <zrt/emulator/packet_order.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// The order that a queue's packets give to writes and reads, stricter than a card: what a read may find stale is an
/// error, whether a cache holds it or not.
///
/// A dispatch sees what an earlier one wrote after CS_PARTIAL_FLUSH (or a wait for a RELEASE_MEM behind it) and then an
/// ACQUIRE_MEM that empties the cache it reads through; what a packet or the host wrote, after such an ACQUIRE_MEM, and
/// what the host wrote into video memory, with the host data path flushed before and the L2 emptied. What RELEASE_MEM
/// writes is there once a wait for it is over; a dispatch sees it after an ACQUIRE_MEM behind that. The host sees what
/// RELEASE_MEM with GL2_WB has written back. What a dispatch reads nobody writes before it has ended. One ledger is one
/// queue's; what it does not follow: scratch, and the waves of one workgroup among themselves, those of several only from
/// follow_workgroups() on.
class Coherence {
 public:
  Coherence(pm4::Generation generation, const Allocator& allocator) noexcept
      : allocator_(allocator), order_(generation), regions_(allocator) {}

  /// From now on workgroups of one dispatch that race are an error too: of what one of them writes no other uses a byte,
  /// but for atomics. Every access of memory that the GPU writes is looked at then, which takes time, and 16 bytes for each
  /// of the memory's.
  void follow_workgroups() noexcept { follows_groups_ = true; }

  /// The host has published packets: finds what it wrote before, and takes every fence so far as seen by it.
  [[nodiscard]] Result<void> publish(const AddressSpace& memory) noexcept {
    if (auto r = order_.next_moment(); !r) return r;
    published_ = order_.now();
    order_.publish();
    if (auto r = regions_.adopt(memory, published_); !r) return r;
    return regions_.find_host_writes(memory, published_);
  }

  /// The queue has executed what it could: what is written from now on the host writes, until the queue goes on.
  void rest(const AddressSpace& memory) noexcept {
    regions_.follow_gpu(memory, rested_);
    rested_ = order_.now();
  }

  // --- packets ---

  void flush() noexcept { order_.flush(); }
  void flush_host_data_path() noexcept { order_.flush_host_data_path(); }
  void acquire(const EmptiedCaches& emptied) noexcept { order_.acquire(emptied); }
  /// A wait for `address` is over, which waits until `passes(value)`.
  template <class Passes> void wait(std::uint64_t address, Passes&& passes) noexcept { order_.wait(address, passes); }
  /// A RELEASE_MEM; where it writes, release_writes() follows. Errors: limit_exceeded.
  [[nodiscard]] Result<void> release(bool writes_back) noexcept {
    const auto stamp = order_.release();
    if (!stamp) return pass(stamp);
    release_ = *stamp;
    if (writes_back) unreleased_ = {};
    return {};
  }
  /// The last RELEASE_MEM writes `address`, which holds `before`. Errors: out_of_memory.
  [[nodiscard]] Result<void> release_writes(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                            std::uint64_t before, bool into_l2) noexcept {
    order_.release_writes(address, before);
    return stamp(memory, address, bytes, release_, "RELEASE_MEM", into_l2);
  }
  /// A packet reads memory, past the caches of waves but through the L2: what the host wrote by the BAR it sees behind the
  /// flush of the host data path and an ACQUIRE_MEM that empties the L2, what it wrote into its own memory always, since
  /// that is in no cache.
  [[nodiscard]] Result<void> packet_reads(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                          std::string_view packet) const noexcept {
    const MappedRegion* const region = memory.find(address, bytes);
    if (auto r = check_finished(region, address, bytes, packet, " reads "); !r) return r;
    return check_fetched(region, address, bytes, packet);
  }
  /// A packet waits for a word, which a dispatch that runs may write.
  [[nodiscard]] Result<void> packet_waits(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                          std::string_view packet) const noexcept {
    return check_fetched(memory.find(address, bytes), address, bytes, packet);
  }
  /// A packet is about to write beside the dispatches that run. Errors: one of them may still write or read there.
  [[nodiscard]] Result<void> packet_overwrites(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                               std::string_view packet) const noexcept {
    const MappedRegion* const region = memory.find(address, bytes);
    if (auto r = check_finished(region, address, bytes, packet, " writes "); !r) return r;
    const FollowedRegion* const f = regions_.find(region);
    if (f == nullptr || order_.has_ended(f->newest_read)) return {};
    for (std::uint64_t at = address; at < address + bytes; at += 4)
      if (const std::uint32_t reader = f->reads.last_but(0, (at - region->address) / 4); !order_.has_ended(reader))
        return order_.still_read(packet, at, reader);
    return {};
  }
  /// A packet but RELEASE_MEM writes memory, or only the L2. Errors: out_of_memory, limit_exceeded.
  [[nodiscard]] Result<void> packet_writes(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                           std::string_view packet, bool into_l2) noexcept {
    if (auto r = order_.next_moment(); !r) return r;
    return stamp(memory, address, bytes, WriteStamp(Writer::packet, order_.now()), packet, into_l2);
  }

  // --- a dispatch ---

  /// The dispatch of that number, from 1, begins. Where the next packet but registers does not wait for its end, what it
  /// reads is kept. Errors: out_of_memory, limit_exceeded.
  [[nodiscard]] Result<void> begin_dispatch(const AddressSpace& memory, std::uint64_t number,
                                            bool is_flushed_next) noexcept {
    const auto begun = order_.begin_dispatch(number);
    if (!begun) return pass(begun);
    running_ = *begun;
    if (auto r = regions_.adopt(memory, published_); !r) return r;
    for (FollowedRegion& f : regions_) {
      f.written = 0;
      f.racy = !order_.is_finished(f.stamps) || !order_.has_ended(f.newest_read);
      f.keeps_reads = false;
      f.suspect = order_.suspect_caches(f.stamps);
    }
    if (is_flushed_next && !follows_groups_) return {};
    for (const MappedRegion& region : memory.regions()) {
      // The GPU writes no others.
      if (!allows(region.permission, Permission::write)) continue;
      FollowedRegion& f = regions_[region];
      if (follows_groups_ && !f.groups.has_bytes())
        if (auto r = f.groups.make_bytes(region.bytes.size()); !r) return r;
      f.racy = f.racy || follows_groups_;
      if (auto r = f.reads.make_words((region.bytes.size() + 3) / 4, allocator_); !r) return r;
      f.keeps_reads = true;
      f.newest_read = running_.moment();
      f.suspect = (1u << kCaches) - 1;
    }
    return {};
  }
  void end_dispatch() noexcept {
    for (FollowedRegion& f : regions_) {
      if (f.written == 0) continue;
      f.stamps.note(running_);
      if (f.stamps.region().host != HostView::none) unreleased_ = {f.stamps.region().address, running_.moment(), {}};
    }
  }
  /// Whether a read of that region needs a look at its words; cheap.
  [[nodiscard]] bool suspects(const MappedRegion& region, Cache cache) const noexcept {
    return regions_.has(region) && (regions_[region].suspect >> static_cast<unsigned>(cache) & 1u) != 0;
  }
  /// The running dispatch reads, of which it is kept what nothing waits for. Errors: Errc::spec_violation, which names
  /// both writer and reader, the address, and the packet that is missing between them.
  [[nodiscard]] Result<void> check_read(const MappedRegion& region, std::uint64_t address, std::uint64_t bytes,
                                        Cache cache, std::uint64_t group = 0) noexcept {
    if (!suspects(region, cache)) return {};
    FollowedRegion& f = regions_[region];
    const std::uint64_t first = (address - region.address) / 4;
    const std::uint64_t end = (address - region.address + bytes + 3) / 4;
    for (std::uint64_t word = first; word < end; ++word) {
      const WriteStamp stamp = f.stamps.at(word);
      if (order_.is_visible(stamp, cache) || stamp == running_) continue;
      return order_.stale(running_name().text(), cache == Cache::instruction ? " executes " : " reads ",
                          region.address + word * 4, stamp, cache);
    }
    if (f.keeps_reads) f.reads.put(first, end - first, running_.moment());
    return cache == Cache::instruction ? Result<void>{} : check_groups(f, address, bytes, group, MemoryUse::read);
  }
  /// The running dispatch writes. Errors: an earlier one may still write or read there; out_of_memory.
  [[nodiscard]] Result<void> note_write(const MappedRegion& region, std::uint64_t address, std::uint64_t bytes,
                                        std::uint64_t group = 0, MemoryUse use = MemoryUse::write) noexcept {
    if (!regions_.has(region)) return {};
    FollowedRegion& f = regions_[region];
    if (!f.stamps.has_words()) {
      const MutexLock lock(mutex_);
      if (auto r = f.stamps.make_words(allocator_); !r) return r;
    }
    __atomic_store_n(&f.written, std::uint8_t{1}, __ATOMIC_RELAXED);
    const std::uint64_t first = (address - region.address) / 4;
    const std::uint64_t count = (address - region.address + bytes + 3) / 4 - first;
    if (f.racy) [[unlikely]] {
      for (std::uint64_t word = first; word < first + count; ++word) {
        const std::uint64_t at = region.address + word * 4;
        const WriteStamp stamp = f.stamps.at(word);
        if (!order_.is_finished(stamp) && stamp != running_)
          return order_.still_written(running_name().text(), " writes ", at, stamp);
        if (const std::uint32_t reader = f.reads.last_but(running_.moment(), word); !order_.has_ended(reader))
          return order_.still_read(running_name().text(), at, reader);
      }
      if (auto r = check_groups(f, address, bytes, group, use); !r) return r;
    }
    f.stamps.put(first, count, running_);
    return {};
  }

  // --- the host ---

  /// The host may read everything that it can see. Errors: Errc::spec_violation, which names the writer and region.
  [[nodiscard]] Result<void> check_released() const noexcept {
    if (unreleased_.moment == 0) return {};
    auto error = Error::of(Errc::spec_violation, "the host cannot see what ");
    if (unreleased_.packet.empty())
      error.append("dispatch ").append(order_.number_of(unreleased_.moment));
    else
      error.append(unreleased_.packet);
    error.append(" wrote to the memory at ").append(hex(unreleased_.address).view());
    error.append(": RELEASE_MEM with GL2_WB is missing behind it");
    return std::unexpected<Error>(error);
  }

 private:
  struct Unreleased {
    std::uint64_t address = 0;
    std::uint32_t moment = 0;
    std::string_view packet{};  ///< its name; none where it was a dispatch
  };

  /// Stamps what a packet writes.
  [[nodiscard]] Result<void> stamp(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                   WriteStamp stamp, std::string_view packet, bool into_l2) noexcept {
    const MappedRegion* const region = memory.find(address, bytes);
    FollowedRegion* const f = regions_.find(region);
    if (f == nullptr) return {};
    if (auto r = f->stamps.make_words(allocator_); !r) return r;
    f->stamps.put((address - region->address) / 4, (bytes + 3) / 4, stamp);
    f->stamps.note(stamp);
    // The host's own memory is mapped past the L2.
    if (into_l2 && region->host == HostView::bar) unreleased_ = {address, stamp.moment(), packet};
    return {};
  }
  [[nodiscard]] Result<void> check_finished(const MappedRegion* region, std::uint64_t address, std::uint64_t bytes,
                                            std::string_view packet, std::string_view does) const noexcept {
    const FollowedRegion* const f = regions_.find(region);
    if (f == nullptr || order_.is_finished(f->stamps)) return {};
    for (std::uint64_t at = address; at < address + bytes; at += 4)
      if (const WriteStamp stamp = f->stamps.at((at - region->address) / 4); !order_.is_finished(stamp))
        return order_.still_written(packet, does, at, stamp);
    return {};
  }
  [[nodiscard]] Result<void> check_fetched(const MappedRegion* region, std::uint64_t address, std::uint64_t bytes,
                                           std::string_view packet) const noexcept {
    const FollowedRegion* const f = regions_.find(region);
    if (f == nullptr || region->host != HostView::bar) return {};
    if (order_.is_fetched(f->stamps.newest(Writer::host_by_bar))) return {};
    for (std::uint64_t at = address; at < address + bytes; at += 4) {
      const WriteStamp stamp = f->stamps.at((at - region->address) / 4);
      if (stamp.writer() == Writer::host_by_bar && !order_.is_fetched(stamp.moment()))
        return order_.unfetched(packet, at, stamp.moment());
    }
    return {};
  }
  [[nodiscard]] Result<void> check_groups(FollowedRegion& f, std::uint64_t address, std::uint64_t bytes,
                                          std::uint64_t group, MemoryUse use) noexcept {
    if (!follows_groups_ || !f.groups.has_bytes()) return {};
    const MutexLock lock(mutex_);
    for (std::uint64_t at = address; at < address + bytes; ++at)
      if (!f.groups.note(at - f.stamps.region().address, running_.moment(), static_cast<std::uint32_t>(group), use))
        return fail(Errc::spec_violation, running_name().text(), ": its workgroups race at ", hex(at).view(),
                    ", which one of them writes and number ", group, use == MemoryUse::read ? " reads" : " writes");
    return {};
  }
  [[nodiscard]] ZRT_NOINLINE Error running_name() const noexcept {
    return Error::of(Errc::spec_violation, "dispatch ", order_.number_of(running_.moment()));
  }

  Allocator allocator_;
  PacketOrder order_;
  FollowedRegions regions_;
  std::uint32_t published_ = 0;
  std::uint32_t rested_ = 0;
  bool follows_groups_ = false;
  WriteStamp running_{};
  WriteStamp release_{};
  Unreleased unreleased_{};
  Mutex mutex_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
