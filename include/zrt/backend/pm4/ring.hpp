// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/ring.hpp: the ring that a queue reads packets from, and how they are published.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/span.hpp>

#include <bit>

namespace zrt::inline ZRT_ABI::pm4 {

/// A ring of packets over memory that the device reads. A view: memory, pointer and doorbell stay the caller's.
///
/// Positions count dwords and never wrap; a dword lies at its position modulo the ring. Packets may straddle the end.
/// How far the device is, the caller learns from its own fences and tells release(): the read pointer that a queue
/// reports lags and may wrap.
class Ring {
 public:
  static constexpr std::size_t kLeastDwords = 256;

  /// `words` has a power of two of dwords, at least 256. `write_pointer` is where the device reads the position again
  /// after the queue was away; `doorbell` is the device's register.
  ///
  /// Errors: Errc::invalid_argument.
  [[nodiscard]] static Result<Ring> over(Span<std::uint32_t> words, std::uint64_t* write_pointer,
                                         volatile std::uint64_t* doorbell) noexcept {
    if (words.size() < kLeastDwords || !std::has_single_bit(words.size()))
      return fail(Errc::invalid_argument, "a ring has ", words.size(), " dwords, a power of two from ", kLeastDwords,
                  " expected");
    if (write_pointer == nullptr || doorbell == nullptr)
      return fail(Errc::invalid_argument, "a ring needs a write pointer and a doorbell");
    return Ring(words, write_pointer, doorbell);
  }

  /// Copies packets behind those written before. The device does not see them yet.
  ///
  /// Errors: Errc::capacity_exceeded; the ring is then as it was.
  [[nodiscard]] Result<void> write(Span<const std::uint32_t> packets) noexcept {
    if (packets.size() > room())
      return fail(Errc::capacity_exceeded, "the ring has room for ", room(), " of ", words_.size(), " dwords, ",
                  packets.size(), " are to be written");
    for (const std::uint32_t word : packets) words_[end_++ & (words_.size() - 1)] = word;
    return {};
  }

  /// Lets the device read what was written: packets, pointer and doorbell become visible in that order.
  void publish() noexcept {
    published_ = end_;
    // Locked or fencing instructions, which also empty the buffers of write-combining memory.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(write_pointer_, end_, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    *doorbell_ = end_;
  }

  /// Gives the room before `position` back: a fence that was written up to there has been passed.
  ///
  /// Errors: Errc::invalid_argument for a position that was not published, or lies before an earlier one.
  [[nodiscard]] Result<void> release(std::uint64_t position) noexcept {
    if (position < released_ || position > published_)
      return fail(Errc::invalid_argument, "position ", position, " of the ring is released, ", released_, " to ",
                  published_, " expected");
    released_ = position;
    return {};
  }

  /// Dwords that can be written.
  [[nodiscard]] std::size_t room() const noexcept { return words_.size() - static_cast<std::size_t>(end_ - released_); }
  [[nodiscard]] std::size_t size() const noexcept { return words_.size(); }
  /// Where the next packet will stand.
  [[nodiscard]] std::uint64_t position() const noexcept { return end_; }
  [[nodiscard]] std::uint64_t published() const noexcept { return published_; }
  [[nodiscard]] std::uint64_t released() const noexcept { return released_; }

  /// Copies the dwords from `position` on that were written and are still there, oldest first, as far as `to` has
  /// room; returns how many. For whoever decodes the last packets of a queue that hangs.
  [[nodiscard]] std::size_t copy_from(std::uint64_t position, Span<std::uint32_t> to) const noexcept {
    const std::uint64_t oldest = end_ > words_.size() ? end_ - words_.size() : 0;
    if (position < oldest || position >= end_) return 0;
    std::size_t count = 0;
    for (; count < to.size() && position < end_; ++count, ++position)
      to[count] = words_[position & (words_.size() - 1)];
    return count;
  }

 private:
  Ring(Span<std::uint32_t> words, std::uint64_t* write_pointer, volatile std::uint64_t* doorbell) noexcept
      : words_(words), write_pointer_(write_pointer), doorbell_(doorbell) {}

  Span<std::uint32_t> words_;
  std::uint64_t* write_pointer_;
  volatile std::uint64_t* doorbell_;
  std::uint64_t end_ = 0;
  std::uint64_t published_ = 0;
  std::uint64_t released_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4
