// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/packet_order.hpp: which writes have ended and which are seen, by the packets that a queue has executed.
#pragma once

#include <zrt/backend/pm4/target.hpp>
#include <zrt/emulator/write_stamps.hpp>

#include <array>

namespace zrt::inline ZRT_ABI::emulator {

/// The caches that a wave reads through.
enum class Cache : std::uint8_t { vector, scalar, instruction };
inline constexpr unsigned kCaches = 3;

/// What an ACQUIRE_MEM empties.
struct EmptiedCaches {
  std::array<bool, kCaches> above_l2{};  ///< by Cache
  bool l2 = false;
};

/// A queue's time, and what its packets say of the writes before them. It knows moments alone, no memory.
///
/// A dispatch has ended at CS_PARTIAL_FLUSH, or at the end of a wait for a RELEASE_MEM behind it; a RELEASE_MEM has written
/// at the end of a wait for it. What has ended an ACQUIRE_MEM makes visible to the caches that it empties; what the host
/// wrote by the BAR, where the host data path was flushed before and the L2 is emptied too.
class PacketOrder {
 public:
  explicit PacketOrder(pm4::Generation generation) noexcept : generation_(generation) {}

  [[nodiscard]] std::uint32_t now() const noexcept { return now_; }
  /// Errors: limit_exceeded.
  [[nodiscard]] Result<void> next_moment() noexcept {
    if (++now_ < WriteStamp::kMostMoments) return {};
    return fail(Errc::limit_exceeded, "a queue of the model has run ", now_, " dispatches and packets that write");
  }

  // --- what a queue executes ---

  /// The host has seen every fence so far.
  void publish() noexcept { end_release(released_); }
  void flush() noexcept { completed_ = now_; }
  void flush_host_data_path() noexcept { host_data_path_ = now_; }
  /// A RELEASE_MEM, at a moment of its own. Errors: limit_exceeded.
  [[nodiscard]] Result<WriteStamp> release() noexcept {
    if (auto r = next_moment(); !r) return pass(r);
    released_ = now_;
    return WriteStamp(Writer::release, now_);
  }
  /// The last RELEASE_MEM writes `address`, which holds `before`.
  void release_writes(std::uint64_t address, std::uint64_t before) noexcept {
    releases_[next_release_++ % releases_.size()] = {address, before, released_};
  }
  /// A wait for `address` is over, which waits until `passes(value)`: it tells of a RELEASE_MEM where it could not have
  /// passed without.
  template <class Passes> void wait(std::uint64_t address, Passes&& passes) noexcept {
    std::uint32_t ended = landed_;
    for (const Released& r : releases_)
      if (r.address == address && r.moment > ended && !passes(r.before)) ended = r.moment;
    end_release(ended);
  }
  void acquire(const EmptiedCaches& emptied) noexcept {
    for (unsigned cache = 0; cache < kCaches; ++cache) {
      if (!emptied.above_l2[cache]) continue;
      see(cache, Writer::dispatch, completed_);
      see(cache, Writer::packet, now_);
      see(cache, Writer::release, landed_);
      see(cache, Writer::host, now_);
      if (emptied.l2) see(cache, Writer::host_by_bar, host_data_path_);
    }
    if (emptied.l2) fetched_ = host_data_path_;
  }
  /// The dispatch of that number begins. Errors: limit_exceeded.
  [[nodiscard]] Result<WriteStamp> begin_dispatch(std::uint64_t number) noexcept {
    if (auto r = next_moment(); !r) return pass(r);
    recent_[now_ % recent_.size()] = {now_, number};
    return WriteStamp(Writer::dispatch, now_);
  }

  // --- what is known of a write or a read ---

  /// Whether it stands in memory for certain.
  [[nodiscard]] bool is_finished(WriteStamp stamp) const noexcept {
    if (stamp.writer() == Writer::release) return stamp.moment() <= landed_;
    return stamp.writer() != Writer::dispatch || has_ended(stamp.moment());
  }
  /// Whether that is so of all that was written there.
  [[nodiscard]] bool is_finished(const RegionStamps& stamps) const noexcept {
    return has_ended(stamps.newest(Writer::dispatch)) && stamps.newest(Writer::release) <= landed_;
  }
  /// Whether the dispatch of that moment has.
  [[nodiscard]] bool has_ended(std::uint32_t moment) const noexcept { return moment <= completed_; }
  /// Whether a dispatch sees it through that cache.
  [[nodiscard]] bool is_visible(WriteStamp stamp, Cache cache) const noexcept {
    return stamp.moment() <= visible_[static_cast<unsigned>(cache)][static_cast<unsigned>(stamp.writer())];
  }
  /// The caches, as bits, through which a dispatch may see too little of what was written there.
  [[nodiscard]] std::uint8_t suspect_caches(const RegionStamps& stamps) const noexcept {
    unsigned caches = 0;
    for (unsigned cache = 0; cache < kCaches; ++cache)
      for (unsigned writer = 0; writer < kWriters; ++writer)
        if (stamps.newest(static_cast<Writer>(writer)) > visible_[cache][writer]) caches |= 1u << cache;
    return static_cast<std::uint8_t>(caches);
  }
  /// Whether packets see what the host wrote by the BAR at that moment.
  [[nodiscard]] bool is_fetched(std::uint32_t moment) const noexcept { return moment <= fetched_; }
  /// The number of the dispatch at that moment; 0 where that is long ago.
  [[nodiscard]] std::uint64_t number_of(std::uint32_t moment) const noexcept {
    const Numbered& n = recent_[moment % recent_.size()];
    return n.moment == moment ? n.number : 0;
  }

  // --- errors, which name the packet that is missing ---

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
  /// `packet` reads there what the host wrote by the BAR at that moment.
  [[nodiscard]] ZRT_NOINLINE std::unexpected<Error> unfetched(std::string_view packet, std::uint64_t address,
                                                              std::uint32_t moment) const noexcept {
    return fail(Errc::spec_violation, packet, " reads ", hex(address).view(), ", which the host wrote: ",
                moment > host_data_path_ ? kMissingFlush : std::string_view("ACQUIRE_MEM with GL2_INV"),
                " is missing between them");
  }
  /// `who` `does` something there through a cache that may hold less.
  [[nodiscard]] ZRT_NOINLINE std::unexpected<Error> stale(std::string_view who, std::string_view does,
                                                          std::uint64_t address, WriteStamp stamp,
                                                          Cache cache) const noexcept {
    static constexpr std::string_view kBits[kCaches] = {"GLV_INV", "GLK_INV", "GLI_INV"};
    static constexpr std::string_view kWrote[kWriters] = {"dispatch ", "a packet wrote", "RELEASE_MEM wrote",
                                                          "the host wrote", "the host wrote"};
    if (stamp.writer() == Writer::release && !is_finished(stamp)) return still_written(who, does, address, stamp);
    auto error = Error::of(Errc::spec_violation, who, does, hex(address).view(), ", which ",
                           kWrote[static_cast<unsigned>(stamp.writer())]);
    if (stamp.writer() == Writer::dispatch) error.append(number_of(stamp.moment())).append(" wrote");
    error.append(": ");
    const bool by_bar = stamp.writer() == Writer::host_by_bar;
    if (!is_finished(stamp))
      error.append("CS_PARTIAL_FLUSH");
    else if (by_bar && stamp.moment() > host_data_path_)
      error.append(kMissingFlush);
    else
      error.append("ACQUIRE_MEM with ")
          .append(kBits[static_cast<unsigned>(cache)])
          .append(cache == Cache::vector && generation_ == pm4::Generation::gfx11 ? " and GL1_INV" : "")
          .append(by_bar ? " and GL2_INV" : "");
    error.append(" is missing between them");
    return std::unexpected<Error>(error);
  }

 private:
  static constexpr std::string_view kMissingFlush =
      "the flush of the host data path (WAIT_REG_MEM of registers 0xe26 and 0xe27)";
  static constexpr std::string_view kUnwaited =
      ", which RELEASE_MEM writes once dispatches have ended: a wait for it is missing between them";

  struct Released {
    std::uint64_t address = 0;  ///< 0: writes nothing
    std::uint64_t before = 0;   ///< what stood there
    std::uint32_t moment = 0;
  };
  struct Numbered {
    std::uint32_t moment = 0;
    std::uint64_t number = 0;
  };

  void end_release(std::uint32_t moment) noexcept {
    landed_ = moment;
    if (moment > completed_) completed_ = moment;
  }
  void see(unsigned cache, Writer writer, std::uint32_t moment) noexcept {
    visible_[cache][static_cast<unsigned>(writer)] = moment;
  }

  pm4::Generation generation_;
  std::uint32_t now_ = 0;
  std::uint32_t completed_ = 0;  ///< dispatches up to this moment have ended
  std::uint32_t released_ = 0;   ///< the last RELEASE_MEM
  std::uint32_t landed_ = 0;     ///< releases up to this moment have written
  std::uint32_t host_data_path_ = 0;
  std::uint32_t fetched_ = 0;  ///< packets see what the host wrote by the BAR up to this moment
  std::array<std::array<std::uint32_t, kWriters>, kCaches> visible_{};
  std::array<Released, 16> releases_{};
  std::uint32_t next_release_ = 0;
  std::array<Numbered, 256> recent_{};
};

}  // namespace zrt::inline ZRT_ABI::emulator
