// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/fenced_ring.hpp: submissions to a ring, each with a fence behind it, and the waiting for them.
#pragma once

#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/heap.hpp>
#include <zrt/backend/pm4/os.hpp>
#include <zrt/backend/pm4/ring.hpp>
#include <zrt/backend/pm4/time_out.hpp>

namespace zrt::inline ZRT_ABI::pm4 {

struct TransportOptions {
  std::uint64_t ring_bytes = std::uint64_t{1} << 20;          ///< a power of two, from 4096
  std::uint64_t timeout = std::uint64_t{10} * 1'000'000'000;  ///< nanoseconds that submit() waits for room
};

/// Errors: Errc::invalid_argument for a ring that a queue does not take.
[[nodiscard]] constexpr Result<void> check(const TransportOptions& options) noexcept {
  if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < kPageBytes ||
      options.ring_bytes > std::uint64_t{1} << 31)
    return fail(Errc::invalid_argument, "a ring of ", options.ring_bytes,
                " bytes, a power of two from 4096 to 2^31 expected");
  return {};
}

/// A queue as the host sees it: its ring, the word of its fences and the pointer that it reports. All of it is the
/// caller's, the operating system outlives it. The base of each transport; used by one thread at a time.
///
/// Fences are positions of the ring: the fence behind a submission has the position where the submission ends, 64 bits
/// that never repeat, so a fence that was passed says how much of the ring is free. submit() and wait() make no system
/// call while all goes well; `Losses` is a function object that asks the kernel: losses(fence) is the error of what it
/// knows about the queue, spec_violation where the GPU touched memory that it may not, unsupported_device where it was
/// reset, or nothing. Where it has `sleep` too, a long wait sleeps: losses.interrupt() is the packet that wakes it. Where
/// it has `old_fault`, that is the page of a fault whose like it cannot tell from no fault, where there is one.
template <OperatingSystem Os, class Losses> class FencedRing {
 public:
  struct Parts {
    Ring ring;
    const std::uint64_t* fence = nullptr;
    std::uint64_t fence_address = 0;  ///< for the GPU
    const std::uint64_t* read_pointer = nullptr;
    std::uint32_t queue = 0;  ///< its number, for errors
    Generation generation = Generation::gfx12;
    std::uint64_t timeout = 0;
  };
  FencedRing(Os& os, const Parts& parts, Losses losses) noexcept
      : os_(&os), parts_(parts), losses_(std::move(losses)) {}

  /// Hands packets to the queue, with a fence behind them; returns the fence for wait(). Waits for room where the ring
  /// is full, as wait() does.
  ///
  /// Errors: Errc::capacity_exceeded for packets that the whole ring cannot hold; those of wait().
  [[nodiscard]] Result<std::uint64_t> submit(Span<const std::uint32_t> packets) noexcept {
    if (!lost_) return pass(lost_);
    Ring& ring = parts_.ring;
    if (packets.size() > ring.size() - kFenceDwords)
      return fail(Errc::capacity_exceeded, packets.size(), " dwords of packets and a fence of ", kFenceDwords,
                  " are submitted to a ring of ", ring.size());
    const std::size_t needed = packets.size() + kFenceDwords;
    if (ring.room() < needed) {
      // The end of that submission after which there is room; its fence may be a later one.
      const std::uint64_t enough = ring.position() + needed - ring.size();
      if (auto r = wait(enough, parts_.timeout); !r) return pass(r);
    }
    const std::uint64_t fence = ring.position() + needed;
    if (auto r = ring.write(packets); !r) return pass(r);
    if (auto r = ring.write(fence_packet(fence).span()); !r) return pass(r);
    ring.publish();
    // Who models a card cannot see the store into the doorbell.
    if constexpr (requires { os_->rung(); }) os_->rung();
    return fence;
  }

  /// True when everything before `fence` is done and visible to the host.
  [[nodiscard]] bool passed(std::uint64_t fence) const noexcept { return last_passed() >= fence; }
  /// The last fence that was passed; 0 before the first.
  [[nodiscard]] std::uint64_t last_passed() const noexcept { return __atomic_load_n(parts_.fence, __ATOMIC_ACQUIRE); }

  /// Waits until `fence` is passed, at most `timeout` nanoseconds; then, and now and then before, the kernel is asked.
  ///
  /// Errors: Errc::invalid_argument for a fence that nothing submitted will write; those of Losses; limit_exceeded where
  /// the kernel knows nothing, with write and read pointer, the last fence that was passed and the packets behind it.
  /// After one of the last two the queue takes nothing more: close it.
  [[nodiscard]] Result<void> wait(std::uint64_t fence, std::uint64_t timeout) noexcept {
    if (!lost_) return lost_;
    if (fence > parts_.ring.published())
      return fail(Errc::invalid_argument, "fence ", fence, " is waited for, ", parts_.ring.published(),
                  " is the last one");
    const std::uint64_t start = os_->now();
    std::uint64_t asked = start;
    bool wakes = false;
    while (!passed(fence)) {
      const std::uint64_t now = os_->now();
      const bool is_over = now - start >= timeout;
      if (is_over || now - asked >= kAskAfter) {
        // Once more: the thread may have slept since its last look.
        if (passed(fence)) break;
        lost_ = losses_(fence);
        if (lost_ && is_over) lost_ = timed_out(fence, timeout);
        if (!lost_) return lost_;
        if constexpr (requires { losses_.interrupt(); }) {
          // From now on it sleeps between two questions, and not at all where there is no room for what wakes it.
          wakes = wakes || ask_for_interrupt();
          const std::uint64_t left = timeout - (now - start);
          if (wakes && losses_.sleep(static_cast<std::uint32_t>((left < kAskAfter ? left : kAskAfter) / 1'000'000 + 1)))
            continue;
        }
        asked = now;
      }
      os_->pause();
    }
    return parts_.ring.release(last_passed());
  }

  /// Calls `visit(const PacketView&)` for the packets of the ring behind the last fence that was passed, `visit(Error)`
  /// for one that cannot be read; at most a page of dwords.
  template <class Visit> void for_each_pending(Visit&& visit) const noexcept {
    std::array<std::uint32_t, 1024> words{};
    const std::size_t count = parts_.ring.copy_from(last_passed(), words);
    PacketReader reader(Span<const std::uint32_t>(words).first(count), parts_.generation);
    while (!reader.done()) {
      const auto packet = reader.next();
      if (packet)
        visit(*packet);
      else
        visit(packet.error());
    }
  }

  [[nodiscard]] const Ring& ring() const noexcept { return parts_.ring; }

 private:
  // Rare enough that a wait of usual length makes no system call, and soon enough for a person.
  static constexpr std::uint64_t kAskAfter = 100'000'000;

  [[nodiscard]] FixedStream<kFenceDwords> fence_packet(std::uint64_t value) const noexcept {
    return words_of(ReleaseMem{.address = parts_.fence_address, .value = value});
  }
  [[nodiscard]] FixedStream<kFenceDwords> words_of(const ReleaseMem& fence) const noexcept {
    if (parts_.generation == Generation::gfx11) return stream_of<Gfx1100, kFenceDwords>(fence);
    return stream_of<Gfx1201, kFenceDwords>(fence);
  }
  /// Has the queue interrupt behind all that it has to do, with a fence behind that, so that the ring's positions are
  /// fences still. False where the ring has no room.
  [[nodiscard]] bool ask_for_interrupt() noexcept
    requires requires(const Losses& losses) { losses.interrupt(); }
  {
    Ring& ring = parts_.ring;
    if (ring.room() < 2 * kFenceDwords) return false;
    const std::uint64_t end = ring.position() + 2 * kFenceDwords;
    const bool written = ring.write(words_of(losses_.interrupt()).span()).has_value() &&
                         ring.write(fence_packet(end).span()).has_value();
    ring.publish();
    return written;
  }
  [[nodiscard]] Result<void> timed_out(std::uint64_t fence, std::uint64_t timeout) const noexcept {
    RingState state{.queue = parts_.queue,
                    .fence = fence,
                    .timeout = timeout,
                    .written = parts_.ring.published(),
                    .read = __atomic_load_n(parts_.read_pointer, __ATOMIC_ACQUIRE),
                    .size = parts_.ring.size(),
                    .passed = last_passed()};
    if constexpr (requires { losses_.old_fault(); }) state.old_fault = losses_.old_fault();
    // The device model knows why, which no card tells.
    if constexpr (requires { os_->complaint(); }) state.complaint = os_->complaint();
    TimeOut error(state);
    for_each_pending(error);
    return std::unexpected<Error>(error.finish());
  }

  Os* os_;
  Parts parts_;
  Losses losses_;
  Result<void> lost_{};
};

}  // namespace zrt::inline ZRT_ABI::pm4
