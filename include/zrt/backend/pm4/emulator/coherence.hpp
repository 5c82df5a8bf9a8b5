// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/coherence.hpp: what the packets of a queue let its dispatches and the host see.
#pragma once

#include <zrt/backend/pm4/emulator/group_stamps.hpp>
#include <zrt/backend/pm4/emulator/read_stamps.hpp>
#include <zrt/backend/pm4/emulator/write_stamps.hpp>
#include <zrt/backend/pm4/target.hpp>
#include <zrt/core/mutex.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// The caches that a wave reads through.
enum class Cache : std::uint8_t { vector, scalar, instruction };
inline constexpr unsigned kCaches = 3;

/// What an ACQUIRE_MEM empties.
struct EmptiedCaches {
  std::array<bool, kCaches> above_l2{};  ///< by Cache
  bool l2 = false;
};

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
  Coherence(Generation generation, const Allocator& allocator) noexcept
      : generation_(generation), allocator_(allocator), regions_(allocator) {}

  /// From now on workgroups of one dispatch that race are an error too: of what one of them writes no other uses a byte,
  /// but for atomics. Every access of memory that the GPU writes is looked at then, which takes time, and 16 bytes for each
  /// of the memory's.
  void follow_workgroups() noexcept { follows_groups_ = true; }

  /// The host has published packets: finds what it wrote before, and takes every fence so far as seen by it.
  [[nodiscard]] Result<void> publish(const AddressSpace& memory) noexcept {
    if (auto r = next_moment(); !r) return r;
    published_ = now_;
    landed_ = released_;
    if (released_ > completed_) completed_ = released_;
    if (auto r = adopt(memory); !r) return r;
    for (const Region& region : memory.regions()) {
      if (region.host == HostView::none) continue;
      if (auto r = regions_[region.id].stamps.find_host_writes(host_stamp(region), allocator_); !r) return r;
    }
    return {};
  }

  /// The queue has executed what it could: what is written from now on the host writes, until the queue goes on.
  void rest(const AddressSpace& memory) noexcept {
    for (const Region& region : memory.regions())
      if (RegionStamps* const stamps = region.host == HostView::none ? nullptr : find(&region))
        stamps->follow_gpu(rested_);
    rested_ = now_;
  }

  // --- packets ---

  void flush() noexcept { completed_ = now_; }
  void flush_host_data_path() noexcept { host_data_path_ = now_; }
  /// A RELEASE_MEM; where it writes, release_writes() follows. Errors: limit_exceeded.
  [[nodiscard]] Result<void> release(bool writes_back) noexcept {
    if (auto r = next_moment(); !r) return r;
    released_ = now_;
    if (writes_back) unreleased_ = {};
    return {};
  }
  /// The last RELEASE_MEM writes `address`, which holds `before`. Errors: out_of_memory.
  [[nodiscard]] Result<void> release_writes(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                            std::uint64_t before, bool into_l2) noexcept {
    releases_[next_release_++ % releases_.size()] = {address, before, released_};
    return stamp(memory, address, bytes, WriteStamp(Writer::release, released_), "RELEASE_MEM", into_l2);
  }
  /// A wait for `address` is over, which waits until `passes(value)`: it tells of a RELEASE_MEM where it could not have
  /// passed without.
  template <class Passes> void wait(std::uint64_t address, Passes&& passes) noexcept {
    std::uint32_t ended = landed_;
    for (const Released& r : releases_)
      if (r.address == address && r.moment > ended && !passes(r.before)) ended = r.moment;
    landed_ = ended;
    if (ended > completed_) completed_ = ended;
  }
  void acquire(const EmptiedCaches& emptied) noexcept {
    for (unsigned cache = 0; cache < kCaches; ++cache) {
      if (!emptied.above_l2[cache]) continue;
      visible_[cache][static_cast<unsigned>(Writer::dispatch)] = completed_;
      visible_[cache][static_cast<unsigned>(Writer::packet)] = now_;
      visible_[cache][static_cast<unsigned>(Writer::release)] = landed_;
      visible_[cache][static_cast<unsigned>(Writer::host)] = now_;
      if (emptied.l2) visible_[cache][static_cast<unsigned>(Writer::host_by_bar)] = host_data_path_;
    }
    if (emptied.l2) fetched_ = host_data_path_;
  }
  /// A packet reads memory, past the caches of waves but through the L2: what the host wrote by the BAR it sees behind the
  /// flush of the host data path and an ACQUIRE_MEM that empties the L2, what it wrote into its own memory always, since
  /// that is in no cache.
  [[nodiscard]] Result<void> packet_reads(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                          std::string_view packet) const noexcept {
    const Region* const region = memory.find(address, bytes);
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
    const Region* const region = memory.find(address, bytes);
    if (auto r = check_finished(region, address, bytes, packet, " writes "); !r) return r;
    if (region == nullptr || region->id >= regions_.size()) return {};
    const Followed& f = regions_[region->id];
    if (f.stamps.serial() != region->serial || f.newest_read <= completed_) return {};
    for (std::uint64_t at = address; at < address + bytes; at += 4)
      if (const std::uint32_t reader = f.reads.last_but(0, (at - region->address) / 4); reader > completed_)
        return still_read(packet, at, reader);
    return {};
  }
  /// A packet but RELEASE_MEM writes memory, or only the L2. Errors: out_of_memory, limit_exceeded.
  [[nodiscard]] Result<void> packet_writes(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                           std::string_view packet, bool into_l2) noexcept {
    if (auto r = next_moment(); !r) return r;
    return stamp(memory, address, bytes, WriteStamp(Writer::packet, now_), packet, into_l2);
  }

  // --- a dispatch ---

  /// The dispatch of that number, from 1, begins. Where the next packet but registers does not wait for its end, what it
  /// reads is kept. Errors: out_of_memory.
  [[nodiscard]] Result<void> begin_dispatch(const AddressSpace& memory, std::uint64_t number,
                                            bool is_flushed_next) noexcept {
    if (auto r = next_moment(); !r) return r;
    if (auto r = adopt(memory); !r) return r;
    recent_[now_ % recent_.size()] = {now_, number};
    running_ = WriteStamp(Writer::dispatch, now_);
    for (Followed& f : regions_) {
      f.written = 0;
      f.racy = has_unfinished(f.stamps) || f.newest_read > completed_;
      f.keeps_reads = false;
      f.suspect = 0;
      for (unsigned cache = 0; cache < kCaches; ++cache)
        for (unsigned writer = 0; writer < kWriters; ++writer)
          if (f.stamps.newest(static_cast<Writer>(writer)) > visible_[cache][writer])
            f.suspect = static_cast<std::uint8_t>(f.suspect | 1u << cache);
    }
    if (is_flushed_next && !follows_groups_) return {};
    for (const Region& region : memory.regions()) {
      // The GPU writes no others.
      if (!allows(region.permission, Permission::write)) continue;
      Followed& f = regions_[region.id];
      if (follows_groups_ && !f.groups.has_bytes())
        if (auto r = f.groups.make_bytes(region.bytes.size()); !r) return r;
      f.racy = f.racy || follows_groups_;
      if (auto r = f.reads.make_words((region.bytes.size() + 3) / 4, allocator_); !r) return r;
      f.keeps_reads = true;
      f.newest_read = now_;
      f.suspect = (1u << kCaches) - 1;
    }
    return {};
  }
  void end_dispatch() noexcept {
    for (Followed& f : regions_) {
      if (f.written == 0) continue;
      f.stamps.note(running_);
      if (f.stamps.region().host != HostView::none) unreleased_ = {f.stamps.region().address, now_, {}};
    }
  }
  /// Whether a read of that region needs a look at its words; cheap.
  [[nodiscard]] bool suspects(const Region& region, Cache cache) const noexcept {
    return region.id < regions_.size() && (regions_[region.id].suspect >> static_cast<unsigned>(cache) & 1u) != 0;
  }
  /// The running dispatch reads, of which it is kept what nothing waits for. Errors: Errc::spec_violation, which names
  /// both writer and reader, the address, and the packet that is missing between them.
  [[nodiscard]] Result<void> check_read(const Region& region, std::uint64_t address, std::uint64_t bytes, Cache cache,
                                        std::uint64_t group = 0) noexcept {
    if (!suspects(region, cache)) return {};
    const auto& visible = visible_[static_cast<unsigned>(cache)];
    const std::uint64_t first = (address - region.address) / 4;
    const std::uint64_t end = (address - region.address + bytes + 3) / 4;
    for (std::uint64_t word = first; word < end; ++word) {
      const WriteStamp stamp = regions_[region.id].stamps.at(word);
      if (stamp.moment() <= visible[static_cast<unsigned>(stamp.writer())] || stamp == running_) continue;
      return stale(stamp, region.address + word * 4, cache);
    }
    Followed& f = regions_[region.id];
    if (f.keeps_reads) f.reads.put(first, end - first, now_);
    return cache == Cache::instruction ? Result<void>{} : check_groups(f, address, bytes, group, MemoryUse::read);
  }
  /// The running dispatch writes. Errors: an earlier one may still write or read there; out_of_memory.
  [[nodiscard]] Result<void> note_write(const Region& region, std::uint64_t address, std::uint64_t bytes,
                                        std::uint64_t group = 0, MemoryUse use = MemoryUse::write) noexcept {
    if (region.id >= regions_.size()) return {};
    Followed& f = regions_[region.id];
    if (!f.stamps.has_words()) {
      const MutexLock lock(mutex_);
      if (auto r = f.stamps.make_words(allocator_); !r) return r;
    }
    __atomic_store_n(&f.written, std::uint8_t{1}, __ATOMIC_RELAXED);
    const std::uint64_t first = (address - region.address) / 4;
    const std::uint64_t count = (address - region.address + bytes + 3) / 4 - first;
    if (f.racy) [[unlikely]] {
      for (std::uint64_t word = first; word < first + count; ++word) {
        const WriteStamp stamp = f.stamps.at(word);
        const std::uint32_t reader = f.reads.last_but(now_, word);
        const bool is_written = !is_finished(stamp) && stamp != running_;
        if (!is_written && reader <= completed_) continue;
        const auto who = Error::of(Errc::spec_violation, "dispatch ", number_of(now_));
        const std::uint64_t at = region.address + word * 4;
        return is_written ? still_written(who.text(), " writes ", at, stamp) : still_read(who.text(), at, reader);
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
      error.append("dispatch ").append(number_of(unreleased_.moment));
    else
      error.append(unreleased_.packet);
    error.append(" wrote to the memory at ").append(hex(unreleased_.address).view());
    error.append(": RELEASE_MEM with GL2_WB is missing behind it");
    return std::unexpected<Error>(error);
  }

 private:
  static constexpr std::string_view kMissingFlush =
      "the flush of the host data path (WAIT_REG_MEM of registers 0xe26 and 0xe27)";
  static constexpr std::string_view kUnwaited =
      ", which RELEASE_MEM writes once dispatches have ended: a wait for it is missing between them";

  struct Followed {
    RegionStamps stamps{};
    std::uint8_t written = 0;  ///< by the running dispatch
    std::uint8_t suspect = 0;  ///< a bit for each cache through which the running dispatch may see too little
    bool racy = false;         ///< an earlier dispatch may still write or read here
    bool keeps_reads = false;  ///< of the running dispatch
    std::uint32_t newest_read = 0;
    ReadStamps reads{};
    GroupStamps groups{};
  };
  struct Released {
    std::uint64_t address = 0;  ///< 0: writes nothing
    std::uint64_t before = 0;   ///< what stood there
    std::uint32_t moment = 0;
  };
  struct Unreleased {
    std::uint64_t address = 0;
    std::uint32_t moment = 0;
    std::string_view packet{};  ///< its name; none where it was a dispatch
  };
  struct Numbered {
    std::uint32_t moment = 0;
    std::uint64_t number = 0;
  };

  [[nodiscard]] Result<void> next_moment() noexcept {
    if (++now_ < WriteStamp::kMostMoments) return {};
    return fail(Errc::limit_exceeded, "a queue of the model has run ", now_, " dispatches and packets that write");
  }
  [[nodiscard]] WriteStamp host_stamp(const Region& region) const noexcept {
    return region.host == HostView::none
               ? WriteStamp{}
               : WriteStamp(region.host == HostView::bar ? Writer::host_by_bar : Writer::host, published_);
  }
  /// Follows the regions as they are mapped now; one that is new was written by the host.
  [[nodiscard]] Result<void> adopt(const AddressSpace& memory) noexcept {
    if (regions_.size() < memory.ids())
      if (auto r = regions_.resize(memory.ids()); !r) return r;
    for (const Region& region : memory.regions()) {
      Followed& f = regions_[region.id];
      if (f.stamps.serial() == region.serial) continue;
      f = {};
      f.groups = GroupStamps(allocator_);
      f.stamps.adopt(region, host_stamp(region));
    }
    return {};
  }
  [[nodiscard]] RegionStamps* find(const Region* region) noexcept {
    if (region == nullptr || region->id >= regions_.size()) return nullptr;
    RegionStamps& stamps = regions_[region->id].stamps;
    return stamps.serial() == region->serial ? &stamps : nullptr;
  }
  /// Stamps what a packet writes, at its moment.
  [[nodiscard]] Result<void> stamp(const AddressSpace& memory, std::uint64_t address, std::uint64_t bytes,
                                   WriteStamp stamp, std::string_view packet, bool into_l2) noexcept {
    const Region* const region = memory.find(address, bytes);
    RegionStamps* const stamps = find(region);
    if (stamps == nullptr) return {};
    if (auto r = stamps->make_words(allocator_); !r) return r;
    stamps->put((address - region->address) / 4, (bytes + 3) / 4, stamp);
    stamps->note(stamp);
    // The host's own memory is mapped past the L2.
    if (into_l2 && region->host == HostView::bar) unreleased_ = {address, stamp.moment(), packet};
    return {};
  }
  [[nodiscard]] bool is_finished(WriteStamp stamp) const noexcept {
    if (stamp.writer() == Writer::release) return stamp.moment() <= landed_;
    return stamp.writer() != Writer::dispatch || stamp.moment() <= completed_;
  }
  [[nodiscard]] bool has_unfinished(const RegionStamps& stamps) const noexcept {
    return stamps.newest(Writer::dispatch) > completed_ || stamps.newest(Writer::release) > landed_;
  }
  [[nodiscard]] Result<void> check_finished(const Region* region, std::uint64_t address, std::uint64_t bytes,
                                            std::string_view packet, std::string_view does) const noexcept {
    if (region == nullptr || region->id >= regions_.size()) return {};
    const RegionStamps& stamps = regions_[region->id].stamps;
    if (stamps.serial() != region->serial || !has_unfinished(stamps)) return {};
    for (std::uint64_t at = address; at < address + bytes; at += 4)
      if (const WriteStamp stamp = stamps.at((at - region->address) / 4); !is_finished(stamp))
        return still_written(packet, does, at, stamp);
    return {};
  }
  [[nodiscard]] Result<void> check_fetched(const Region* region, std::uint64_t address, std::uint64_t bytes,
                                           std::string_view packet) const noexcept {
    if (region == nullptr || region->host != HostView::bar || region->id >= regions_.size()) return {};
    const RegionStamps& stamps = regions_[region->id].stamps;
    if (stamps.serial() != region->serial || stamps.newest(Writer::host_by_bar) <= fetched_) return {};
    for (std::uint64_t at = address; at < address + bytes; at += 4) {
      const WriteStamp stamp = stamps.at((at - region->address) / 4);
      if (stamp.writer() != Writer::host_by_bar || stamp.moment() <= fetched_) continue;
      return fail(Errc::spec_violation, packet, " reads ", hex(at).view(), ", which the host wrote: ",
                  stamp.moment() > host_data_path_ ? kMissingFlush : std::string_view("ACQUIRE_MEM with GL2_INV"),
                  " is missing between them");
    }
    return {};
  }
  [[nodiscard]] Result<void> check_groups(Followed& f, std::uint64_t address, std::uint64_t bytes, std::uint64_t group,
                                          MemoryUse use) noexcept {
    if (!follows_groups_ || !f.groups.has_bytes()) return {};
    const MutexLock lock(mutex_);
    for (std::uint64_t at = address; at < address + bytes; ++at)
      if (!f.groups.note(at - f.stamps.region().address, now_, static_cast<std::uint32_t>(group), use))
        return fail(Errc::spec_violation, "dispatch ", number_of(now_), ": its workgroups race at ", hex(at).view(),
                    ", which one of them writes and number ", group, use == MemoryUse::read ? " reads" : " writes");
    return {};
  }
  /// `who` `does` something there, which a dispatch or RELEASE_MEM may write yet.
  [[nodiscard]] ZRT_NOINLINE std::unexpected<Error> still_written(std::string_view who, std::string_view does,
                                                                  std::uint64_t address,
                                                                  WriteStamp stamp) const noexcept {
    if (stamp.writer() == Writer::release) return fail(Errc::spec_violation, who, does, hex(address).view(), kUnwaited);
    return fail(Errc::spec_violation, who, does, hex(address).view(), " while dispatch ", number_of(stamp.moment()),
                " may still write there: CS_PARTIAL_FLUSH is missing between them");
  }
  /// `who` writes there, where the dispatch of moment `reader` may still read.
  [[nodiscard]] ZRT_NOINLINE std::unexpected<Error> still_read(std::string_view who, std::uint64_t address,
                                                               std::uint32_t reader) const noexcept {
    return fail(Errc::spec_violation, who, " writes ", hex(address).view(), " while dispatch ", number_of(reader),
                " may still read there: CS_PARTIAL_FLUSH is missing between them");
  }
  /// The number of the dispatch at that moment; 0 where that is long ago.
  [[nodiscard]] std::uint64_t number_of(std::uint32_t moment) const noexcept {
    const Numbered& n = recent_[moment % recent_.size()];
    return n.moment == moment ? n.number : 0;
  }

  [[nodiscard]] ZRT_NOINLINE std::unexpected<Error> stale(WriteStamp stamp, std::uint64_t address,
                                                          Cache cache) const noexcept {
    static constexpr std::string_view kBits[kCaches] = {"GLV_INV", "GLK_INV", "GLI_INV"};
    auto error = Error::of(Errc::spec_violation, "dispatch ", number_of(running_.moment()),
                           cache == Cache::instruction ? " executes " : " reads ", hex(address).view());
    if (stamp.writer() == Writer::release && !is_finished(stamp))
      return std::unexpected<Error>(error.append(kUnwaited));
    error.append(", which ");
    const bool by_bar = stamp.writer() == Writer::host_by_bar;
    if (stamp.writer() == Writer::dispatch)
      error.append("dispatch ").append(number_of(stamp.moment())).append(" wrote");
    else
      error.append(stamp.writer() == Writer::packet    ? "a packet wrote"
                   : stamp.writer() == Writer::release ? "RELEASE_MEM wrote"
                                                       : "the host wrote");
    error.append(": ");
    if (!is_finished(stamp))
      error.append("CS_PARTIAL_FLUSH");
    else if (by_bar && stamp.moment() > host_data_path_)
      error.append(kMissingFlush);
    else
      error.append("ACQUIRE_MEM with ")
          .append(kBits[static_cast<unsigned>(cache)])
          .append(cache == Cache::vector && generation_ == Generation::gfx11 ? " and GL1_INV" : "")
          .append(by_bar ? " and GL2_INV" : "");
    error.append(" is missing between them");
    return std::unexpected<Error>(error);
  }

  Generation generation_;
  Allocator allocator_;
  Vector<Followed> regions_;  ///< by Region::id
  std::array<std::array<std::uint32_t, kWriters>, kCaches> visible_{};
  std::uint32_t now_ = 0;
  std::uint32_t published_ = 0;
  std::uint32_t rested_ = 0;
  std::uint32_t completed_ = 0;  ///< dispatches up to this moment have ended
  std::uint32_t released_ = 0;   ///< the last RELEASE_MEM
  std::uint32_t landed_ = 0;     ///< releases up to this moment have written
  std::uint32_t host_data_path_ = 0;
  std::uint32_t fetched_ = 0;  ///< packets see what the host wrote by the BAR up to this moment
  bool follows_groups_ = false;
  WriteStamp running_{};
  Unreleased unreleased_{};
  std::array<Released, 16> releases_{};
  std::uint32_t next_release_ = 0;
  std::array<Numbered, 256> recent_{};
  Mutex mutex_{};
};

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
