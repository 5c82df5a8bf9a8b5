// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/time_out.hpp: what the error of a wait that took too long tells of its queue.
#pragma once

#include <zrt/backend/pm4/decode.hpp>

#include <optional>

namespace zrt::inline ZRT_ABI::pm4 {

/// Where a ring stands whose fence has not come.
struct RingState {
  std::uint32_t queue = 0;
  std::uint64_t fence = 0;                   ///< that is waited for
  std::uint64_t timeout = 0;                 ///< nanoseconds
  std::uint64_t written = 0;                 ///< dwords, published
  std::uint64_t read = 0;                    ///< as the queue reports it: modulo the ring, and late
  std::uint64_t size = 0;                    ///< of the ring, in dwords
  std::uint64_t passed = 0;                  ///< the last fence
  std::optional<std::uint64_t> old_fault{};  ///< a page: one more fault there would look like what is known already
  std::string_view complaint{};
};

/// The text of such an error: pointers, fences, a fault that may have come again, and the packets that have not passed a
/// fence, the first of them, which may be the one that hangs, with its address; or that one alone, and what the device
/// model complains of.
class TimeOut {
 public:
  explicit TimeOut(const RingState& s) noexcept
      : error_(Error::of(Errc::limit_exceeded, "queue ", s.queue, ": no fence ", s.fence, " in ", s.timeout / 1'000'000,
                         " ms, written ", s.written, ", read ", s.read, " of ", s.size, ", passed ", s.passed)),
        complaint_(s.complaint) {
    if (s.old_fault)
      error_.append(", perhaps a fault at ").append(std::string_view(Hex(*s.old_fault))).append(" again");
  }

  /// Takes the packets one after the other; an Error is one that cannot be read.
  void operator()(const PacketView& packet) noexcept { add(packet.kind->name, address_of(packet)); }
  void operator()(const Error&) noexcept { add("(unreadable)", 0); }

  [[nodiscard]] Error finish() noexcept {
    end_row();
    if (!complaint_.empty()) error_.append(": ").append(complaint_);
    return error_;
  }

 private:
  // Of an error's text: what a program says in front, and what may follow a name.
  static constexpr std::size_t kRoomInFront = 81, kTimes = 6;
  static constexpr std::string_view kEllipsis = " ...";

  /// 0 where a packet has none, or that of a fence, which tells nothing.
  [[nodiscard]] static std::uint64_t address_of(const PacketView& packet) noexcept {
    if (packet.kind == &kReleaseMem) return 0;
    const std::uint64_t whole = packet.get("ADDRESS");
    // A wait for registers has one in each half.
    const std::uint64_t high = packet.get("MEM_SPACE") != 0 ? packet.get("ADDRESS_HI") : 0;
    return whole != 0 ? whole : high << 32 | packet.get("ADDRESS_LO");
  }
  /// A packet in a row of equals is named once.
  void add(std::string_view name, std::uint64_t address) noexcept {
    if (name != row_) {
      const bool is_first = row_.empty();
      end_row();
      row_ = name;
      times_ = 0;
      address_ = is_first ? address : 0;
    }
    ++times_;
  }
  void end_row() noexcept {
    if (times_ == 0 || cut_) return;
    if (!names_some_) error_.append(", next");
    names_some_ = true;
    if (!complaint_.empty()) {
      error_.append(' ').append(row_);
      cut_ = true;
      return;
    }
    const Hex address(address_);
    const std::size_t needed = 1 + row_.size() + (address_ != 0 ? 1 + std::string_view(address).size() : 0) +
                               (times_ > 1 ? kTimes : 0) + kEllipsis.size();
    cut_ = error_.text().size() + needed > Error::kTextCapacity - kRoomInFront;
    if (cut_) {
      error_.append(kEllipsis);
      return;
    }
    error_.append(' ').append(row_);
    if (address_ != 0) error_.append(' ').append(std::string_view(address));
    if (times_ > 1) error_.append(" x").append(times_);
  }

  Error error_;
  std::string_view complaint_;
  bool names_some_ = false;
  std::string_view row_{};
  std::uint64_t address_ = 0;  ///< of the row's first packet, which alone is told
  std::uint32_t times_ = 0;
  bool cut_ = false;
};

}  // namespace zrt::inline ZRT_ABI::pm4
