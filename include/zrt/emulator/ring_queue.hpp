// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/ring_queue.hpp: a queue of the device model that reads its ring up to the doorbell.
#pragma once

#include <zrt/emulator/command_processor.hpp>
#include <zrt/emulator/grid_hook.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// Where a queue finds its ring and its pointers.
struct RingPlace {
  std::uint64_t ring = 0;
  std::uint64_t bytes = 0;  ///< a power of two
  std::uint64_t write_pointer = 0;
  std::uint64_t read_pointer = 0;
  /// Whether its indirect buffers say that they inherit the queue's address space: a user queue's must, others' not.
  bool inherits_vmid = false;
};

/// Executes a ring from fence to fence. What a card would hang on stops the queue for good.
class RingQueue {
 public:
  RingQueue(const AddressSpace& memory, const pm4::TargetFacts& target, const Allocator& allocator) noexcept
      : memory_(memory), generation_(target.generation), words_(allocator), processor_(memory, target, allocator) {}

  /// Errors: Errc::out_of_memory.
  [[nodiscard]] Result<void> open(std::uint32_t id, const RingPlace& place) noexcept {
    id_ = id;
    place_ = place;
    processor_.require_inheritance(place.inherits_vmid);
    return words_.reserve(place.bytes / 4);
  }

  /// Executes up to the next fence before `rung`, the doorbell's value, or up to a wait that is not over, unless the
  /// queue has stopped. Before it is idle, the host must be able to see what it wrote.
  ///
  /// Errors: what stops the queue; fault() then tells of an access that memory does not allow.
  [[nodiscard]] Result<void> advance(std::uint64_t rung, const GridHook& grids) noexcept {
    if (stopped_ || (rung == read_ && !processor_.is_waiting())) return {};
    const bool is_new = rung != seen_;
    rung_ += is_new;
    seen_ = rung;
    auto ran = execute(rung, is_new, grids);
    stopped_ = !ran;
    return ran;
  }
  void stop() noexcept { stopped_ = true; }

  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] const RingPlace& place() const noexcept { return place_; }
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// The access that stopped the queue, if one did.
  [[nodiscard]] const QueueFault& fault() const noexcept { return processor_.fault(); }
  /// How often the doorbell was seen with another value.
  [[nodiscard]] std::uint64_t doorbells_rung() const noexcept { return rung_; }
  [[nodiscard]] const QueueCounters& counters() const noexcept { return processor_.counters(); }
  [[nodiscard]] CommandProcessor& processor() noexcept { return processor_; }

 private:
  [[nodiscard]] Result<void> execute(std::uint64_t rung, bool is_new, const GridHook& grids) noexcept {
    const std::uint64_t dwords = place_.bytes / 4;
    const auto pointer = memory_.at(place_.write_pointer, 8, Permission::read);
    if (!pointer) return pass(pointer);
    const auto written = read_little<std::uint64_t>(*pointer);
    if (written != rung)
      return fail(Errc::spec_violation, "queue ", id_, ": the doorbell says ", rung, ", the write pointer in memory ",
                  written);
    if (rung < read_ || rung - read_ > dwords)
      return fail(Errc::spec_violation, "queue ", id_, ": the doorbell goes from ", read_, " to ", rung,
                  " in a ring of ", dwords);
    const auto ring = memory_.at(place_.ring, place_.bytes, Permission::read);
    if (!ring) return pass(ring);
    if (is_new)
      if (auto r = processor_.publish(); !r) return r;
    words_.clear();
    for (std::uint64_t at = read_; at < rung; ++at)
      if (auto r = words_.push_back(read_little<std::uint32_t>(*ring + (at & (dwords - 1)) * 4)); !r) return r;
    const auto done = processor_.advance(words_.span().first(up_to_a_fence(words_.span())), grids);
    if (!done) return pass(done);
    read_ += *done;
    if (read_ == rung && !processor_.is_waiting())
      if (auto r = processor_.check_released(); !r) return r;
    const auto report = memory_.at(place_.read_pointer, 8, Permission::write);
    if (!report) return pass(report);
    // As the card reports it: a place in the ring, not a count.
    write_little(*report, read_ & (dwords - 1));
    return {};
  }

  /// The dwords up to the first fence and with it; all where there is none, or what cannot be read comes first.
  [[nodiscard]] std::size_t up_to_a_fence(Span<const std::uint32_t> words) const noexcept {
    pm4::PacketReader reader(words, generation_);
    while (!reader.done()) {
      const auto packet = reader.next();
      if (!packet) break;
      if (packet->kind == &pm4::kReleaseMem) return reader.offset();
    }
    return words.size();
  }

  const AddressSpace& memory_;
  pm4::Generation generation_;
  Vector<std::uint32_t> words_;
  CommandProcessor processor_;
  RingPlace place_{};
  std::uint32_t id_ = 0;
  std::uint64_t read_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t rung_ = 0;
  bool stopped_ = false;
};

}  // namespace zrt::inline ZRT_ABI::emulator
