// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/command_processor.hpp: executes packet streams on the memory of the device model.
#pragma once

#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/emulator/coherence.hpp>
#include <zrt/emulator/compute_state.hpp>
#include <zrt/emulator/unmodelled_fields.hpp>

#include <array>
#include <cstring>
#include <optional>

namespace zrt::inline ZRT_ABI::emulator {

/// What a queue has done.
struct QueueCounters {
  std::uint64_t packets = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t fences = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t progress_signals = 0;  ///< PROTECTED_FENCE_SIGNAL

  constexpr QueueCounters& operator+=(const QueueCounters& other) noexcept {
    packets += other.packets;
    dispatches += other.dispatches;
    fences += other.fences;
    interrupts += other.interrupts;
    progress_signals += other.progress_signals;
    return *this;
  }
};

/// Why a queue's access to memory failed, for the event that tells its process.
struct QueueFault {
  AccessFault access{};
  std::uint64_t dispatch = 0;  ///< the dispatch whose kernel it was, from 1; 0 where it was a packet

  [[nodiscard]] constexpr bool happened() const noexcept { return access.bytes != 0; }
};

/// Executes the packets of a compute queue, one after the other, each done before the next begins.
///
/// It refuses what PacketReader refuses, reads and writes of what is not mapped, reads that the order of the packets
/// lets find something stale (Coherence), and what it does not model, by name.
class CommandProcessor {
 public:
  /// Packets that one run may execute, chains of indirect buffers included.
  static constexpr std::uint64_t kMostPackets = std::uint64_t{1} << 18;

  CommandProcessor(const AddressSpace& memory, const pm4::TargetFacts& target,
                   Allocator allocator = system_allocator()) noexcept
      : memory_(memory),
        state_(target.generation),
        generation_(target.generation),
        allocator_(allocator),
        coherence_(target.generation, allocator),
        buffer_(allocator) {}

  /// The host has published packets; what it wrote before, it wrote before them. Errors: out_of_memory.
  [[nodiscard]] Result<void> publish() noexcept { return coherence_.publish(memory_); }

  /// Executes a ring's packets up to its next fence, or up to a wait that is not over; goes on where it was in an
  /// indirect buffer. `dispatch(const Dispatch&, const AddressSpace&)` runs a grid and gives a Result<void>.
  ///
  /// Returns the dwords of the ring that are done with. Errors: those of PacketReader and of `dispatch`;
  /// Errc::spec_violation for memory and for a missing barrier; limit_exceeded for chains without end; unimplemented.
  template <class Run>
  [[nodiscard]] Result<std::size_t> advance(Span<const std::uint32_t> ring, Run&& dispatch) noexcept {
    const auto done = execute_ring(ring, dispatch);
    coherence_.rest(memory_);
    return done;
  }

  /// Publishes and runs a ring's packets to the end, and then lets the host see memory.
  ///
  /// Errors: those of advance(); limit_exceeded for a wait, which nothing can end; spec_violation where the host would
  /// not see what a dispatch wrote.
  template <class Run> [[nodiscard]] Result<void> run(Span<const std::uint32_t> ring, Run&& dispatch) noexcept {
    if (auto r = publish(); !r) return r;
    while (!ring.empty()) {
      const auto done = advance(ring, dispatch);
      if (!done) return pass(done);
      if (waiting_) return std::unexpected<Error>(wait_);
      ring = ring.subspan(*done);
    }
    return check_released();
  }

  /// How many shader engines the card has; see ComputeState.
  void set_engines(std::uint32_t engines) noexcept { state_.set_engines(engines); }
  /// From now on indirect buffers must say, or must not say, that they inherit the queue's address space.
  void require_inheritance(bool inherits) noexcept { inherits_ = inherits; }
  /// The queue starts without masks of compute units; see ComputeState.
  void require_masks() noexcept { state_.require_masks(); }
  /// From now on vector accesses of kernels must be aligned, which the hardware asks of none; see alignment_of().
  void require_alignment() noexcept { any_address_ = false; }
  /// From now on races between workgroups of one dispatch are errors; see Coherence.
  void follow_workgroups() noexcept { coherence_.follow_workgroups(); }
  /// The next RELEASE_MEM does nothing, as if the chip had lost it.
  void lose_next_fence() noexcept { loses_fence_ = true; }
  /// Whether the last packet is a wait that is not over.
  [[nodiscard]] bool is_waiting() const noexcept { return waiting_; }
  /// Whether the host may read what dispatches wrote. Errors: Errc::spec_violation.
  [[nodiscard]] Result<void> check_released() const noexcept { return coherence_.check_released(); }
  /// The access that ended the last advance(), if one did.
  [[nodiscard]] const QueueFault& fault() const noexcept { return fault_; }
  [[nodiscard]] const QueueCounters& counters() const noexcept { return counters_; }

 private:
  template <class Run>
  [[nodiscard]] Result<std::size_t> execute_ring(Span<const std::uint32_t> ring, Run& dispatch) noexcept {
    packets_left_ = kMostPackets;
    waiting_ = false;
    fault_ = {};
    if (auto r = run_buffer(dispatch); !r) return pass(r);
    pm4::PacketReader reader(ring, generation_, pm4::PacketPlace::ring);
    std::size_t done = 0;
    while (!waiting_ && !reader.done()) {
      const auto packet = reader.next();
      if (!packet) return pass(packet);
      behind_ = ring.subspan(reader.offset());
      if (auto r = execute(*packet, pm4::PacketPlace::ring, dispatch); !r) return pass(r);
      // An indirect buffer is left where it waits; the ring's own wait is read again.
      if (waiting_ && packet->kind != &pm4::kIndirectBuffer) break;
      done = reader.offset();
      if (packet->kind == &pm4::kReleaseMem) break;
    }
    return done;
  }
  /// The rest of the indirect buffer and of its chain.
  template <class Run> [[nodiscard]] Result<void> run_buffer(Run& dispatch) noexcept {
    while (!waiting_ && buffer_at_ < buffer_.size()) {
      pm4::PacketReader reader(buffer_.span().subspan(buffer_at_), generation_, pm4::PacketPlace::indirect_buffer);
      const auto packet = reader.next();
      if (!packet) return pass(packet);
      const std::size_t next = buffer_at_ + reader.offset();
      behind_ = buffer_.span().subspan(next);
      if (packet->kind == &pm4::kIndirectBuffer) {
        if (packet->get("CHAIN") == 0)
          return fail(Errc::unimplemented, "an indirect buffer inside another is not modelled");
        if (auto r = execute(*packet, pm4::PacketPlace::indirect_buffer, dispatch); !r) return r;
        continue;
      }
      if (auto r = execute(*packet, pm4::PacketPlace::indirect_buffer, dispatch); !r) return r;
      if (!waiting_) buffer_at_ = next;
    }
    return {};
  }

  template <class Run>
  Result<void> execute(const pm4::PacketView& packet, pm4::PacketPlace place, Run& dispatch) noexcept {
    const pm4::Packet* kind = packet.kind;
    if (packets_left_-- == 0)
      return fail(Errc::limit_exceeded, "a queue has executed ", kMostPackets, " packets of one submission");
    ++counters_.packets;
    ++clock_;
    if (kind == &pm4::kIndirectBuffer) {
      if (inherits_ && (packet.get("INHERIT_VMID_MQD") != 0) != *inherits_)
        return fail(Errc::invalid_packet, "INDIRECT_BUFFER has INHERIT_VMID_MQD ", packet.get("INHERIT_VMID_MQD"),
                    *inherits_ ? ", a user queue needs 1" : ", 0 expected");
      auto words = fetch(packet, packet.get("SIZE"));
      if (!words) return pass(words);
      buffer_ = std::move(*words);
      buffer_at_ = 0;
      return place == pm4::PacketPlace::ring ? run_buffer(dispatch) : Result<void>{};
    }
    if (kind == &pm4::kSetShReg) {
      auto offset = static_cast<std::uint32_t>(packet.get("OFFSET"));
      for (const std::uint32_t value : packet.body()) state_.set(offset++, value);
      return {};
    }
    if (kind == &pm4::kDispatchDirect) {
      const auto size = [&](std::string_view name) { return static_cast<std::uint32_t>(packet.get(name)); };
      return start(packet, {size("DIM_X"), size("DIM_Y"), size("DIM_Z")}, dispatch);
    }
    if (kind == &pm4::kDispatchIndirect) {
      const auto groups = fetch(packet, 3);
      if (!groups) return pass(groups);
      return start(packet, {(*groups)[0], (*groups)[1], (*groups)[2]}, dispatch);
    }
    if (kind == &pm4::kReleaseMem) return release(packet);
    if (kind == &pm4::kWaitRegMem || kind == &pm4::kWaitRegMem64) return wait(packet);
    if (kind == &pm4::kWriteData) return write_data(packet);
    if (kind == &pm4::kCopyData) return copy_data(packet);
    if (kind == &pm4::kAcquireMem) return acquire(packet);
    if (is_partial_flush(packet)) coherence_.flush();
    if (kind == &pm4::kPredExec) return fail(Errc::unimplemented, "PRED_EXEC is for chips of several dies");
    if (kind == &pm4::kProtectedFenceSignal) ++counters_.progress_signals;
    return {};
  }

  template <class Run>
  Result<void> start(const pm4::PacketView& packet, const std::array<std::uint32_t, 3>& groups,
                     Run& dispatch) noexcept {
    auto described = state_.dispatch(packet, groups, memory_);
    if (!described) return pass(described);
    ++counters_.dispatches;
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return {};
    if (auto r = coherence_.begin_dispatch(memory_, counters_.dispatches, is_flushed_next()); !r) return r;
    described->coherence = &coherence_;
    described->any_address = any_address_;
    described->fault = &fault_.access;
    described->clock = &clock_;
    fault_.dispatch = counters_.dispatches;
    if (auto r = dispatch(std::as_const(*described), memory_); !r) return r;
    fault_.dispatch = 0;
    coherence_.end_dispatch();
    return {};
  }

  /// Whether CS_PARTIAL_FLUSH follows the packet before anything that starts or writes.
  [[nodiscard]] bool is_flushed_next() const noexcept {
    pm4::PacketReader reader(behind_, generation_);
    while (!reader.done()) {
      const auto packet = reader.next();
      if (!packet) return false;
      if (is_partial_flush(*packet)) return true;
      // RELEASE_MEM writes once every dispatch has ended.
      if (packet->kind != &pm4::kSetShReg && packet->kind != &pm4::kAcquireMem && packet->kind != &pm4::kNop &&
          packet->kind != &pm4::kReleaseMem)
        return false;
    }
    return false;
  }
  [[nodiscard]] static bool is_partial_flush(const pm4::PacketView& packet) noexcept {
    return packet.kind == &pm4::kEventWrite &&
           packet.get("EVENT_TYPE") == named_value(pm4::fields::kEventType, "CS_PARTIAL_FLUSH");
  }

  Result<void> acquire(const pm4::PacketView& packet) noexcept {
    if (packet.get("COHER_BASE") != 0 || (packet.get("COHER_SIZE") & 0xffffffffu) != 0xffffffffu)
      return fail(Errc::unimplemented, "ACQUIRE_MEM of some of memory is not modelled");
    if (auto r = refuse_fields(packet, {"GL1_RANGE", "GL2_US", "GL2_RANGE", "GL2_DISCARD", "RANGE_IS_PA"}); !r)
      return r;
    if (packet.get("GLI_INV") > 1)
      return fail(Errc::unimplemented, "ACQUIRE_MEM with a range of the instruction cache is not modelled");
    const auto empties = [&](std::string_view name) { return packet.get(name) != 0; };
    const bool vector = empties("GLV_INV") && (generation_ != pm4::Generation::gfx11 || empties("GL1_INV"));
    coherence_.acquire({{vector, empties("GLK_INV"), empties("GLI_INV")}, empties("GL2_INV")});
    return {};
  }

  Result<void> release(const pm4::PacketView& packet) noexcept {
    if (std::exchange(loses_fence_, false)) return {};
    if (auto r = refuse_fields(packet, {"GL2_US", "GL2_RANGE", "GL2_DISCARD"}); !r) return r;
    ++counters_.fences;
    if (packet.get("INT_SEL") != 0) ++counters_.interrupts;
    if (auto r = coherence_.release(packet.get("GL2_WB") != 0); !r) return r;
    const std::uint64_t data = packet.get("DATA_SEL");
    if (data == 0) return {};
    if (data == 4) return fail(Errc::unimplemented, "RELEASE_MEM of a counter of the command processor");
    // It writes behind the end of every dispatch, so that none is in its way.
    const std::uint64_t address = packet.get("ADDRESS"), bytes = data == 1 ? 4 : 8;
    const auto at = memory_.at(address, bytes, Permission::write, &fault_.access);
    if (!at) return pass(at);
    const bool into_l2 = packet.get("DST_SEL") == 1;
    if (auto r = coherence_.release_writes(memory_, address, bytes, read(*at, bytes), into_l2); !r) return r;
    write(*at, data == 3 ? clock_ : packet.get("DATA"), bytes);
    return {};
  }

  Result<void> wait(const pm4::PacketView& packet) noexcept {
    const std::uint64_t low = packet.get("ADDRESS_LO"), high = packet.get("ADDRESS_HI");
    if (packet.get("MEM_SPACE") == 0) {
      if (packet.get("OPERATION") == 1 && low == pm4::kHdpFlushRequest && high == pm4::kHdpFlushDone) {
        coherence_.flush_host_data_path();
        return {};
      }
      return fail(Errc::unimplemented, packet.kind->name, " of register ", std::string_view(pm4::Hex(low)));
    }
    const std::uint64_t address = high << 32 | low;
    const std::uint64_t bytes = packet.kind == &pm4::kWaitRegMem64 ? 8 : 4;
    const auto found = load(address, bytes);
    if (!found) return pass(found);
    if (auto r = coherence_.packet_waits(memory_, address, bytes, packet.kind->name); !r) return r;
    const std::uint64_t mask = packet.get("MASK"), reference = packet.get("REFERENCE");
    const auto passes = [&](std::uint64_t held) { return holds_true(packet.get("FUNCTION"), held & mask, reference); };
    if (passes(*found)) {
      coherence_.wait(address, passes);
      return {};
    }
    const std::uint64_t value = *found & mask;
    // It is executed again and again; it counts once.
    --counters_.packets;
    waiting_ = true;
    wait_ =
        Error::of(Errc::limit_exceeded, packet.kind->name, " waits without end: ", std::string_view(pm4::Hex(address)),
                  " holds ", std::string_view(pm4::Hex(value)), ", reference ", std::string_view(pm4::Hex(reference)));
    return {};
  }

  [[nodiscard]] static bool holds_true(std::uint64_t function, std::uint64_t value, std::uint64_t reference) noexcept {
    switch (static_cast<pm4::WaitCondition>(function)) {
      case pm4::WaitCondition::always:
        return true;
      case pm4::WaitCondition::less:
        return value < reference;
      case pm4::WaitCondition::less_equal:
        return value <= reference;
      case pm4::WaitCondition::equal:
        return value == reference;
      case pm4::WaitCondition::not_equal:
        return value != reference;
      case pm4::WaitCondition::greater_equal:
        return value >= reference;
      case pm4::WaitCondition::greater:
        return value > reference;
    }
    return false;
  }

  Result<void> write_data(const pm4::PacketView& packet) noexcept {
    if (packet.get("DST_SEL") == 0) return fail(Errc::unimplemented, "WRITE_DATA to a register");
    std::uint64_t address = packet.get("ADDRESS");
    for (const std::uint32_t word : packet.body()) {
      if (auto r = store(packet, address, word, 4); !r) return r;
      if (packet.get("ADDR_INCR") == 0) address += 4;
    }
    return {};
  }

  Result<void> copy_data(const pm4::PacketView& packet) noexcept {
    const std::uint64_t bytes = packet.get("COUNT_SEL") != 0 ? 8 : 4;
    const std::uint64_t from = packet.get("SRC_SEL");
    if (from == 0 || from == 4 || packet.get("DST_SEL") == 0)
      return fail(Errc::unimplemented, "COPY_DATA of a register or a performance counter");
    Result<std::uint64_t> value = packet.get("SRC");
    if (from == 9) value = clock_;
    if (from == 1 || from == 2) {
      value = load(packet.get("SRC"), bytes);
      if (value)
        if (auto r = coherence_.packet_reads(memory_, packet.get("SRC"), bytes, packet.kind->name); !r) return r;
    }
    if (!value) return pass(value);
    return store(packet, packet.get("DST"), *value, bytes);
  }

  /// Dwords at the packet's address.
  [[nodiscard]] Result<Vector<std::uint32_t>> fetch(const pm4::PacketView& packet, std::uint64_t count) noexcept {
    const std::uint64_t address = packet.get("ADDRESS");
    Vector<std::uint32_t> words(allocator_);
    const auto bytes = memory_.at(address, count * 4, Permission::read, &fault_.access);
    if (!bytes) return pass(bytes);
    if (auto r = coherence_.packet_reads(memory_, address, count * 4, packet.kind->name); !r) return pass(r);
    if (auto r = words.resize(count); !r) return pass(r);
    for (std::size_t i = 0; i < count; ++i) words[i] = read_little<std::uint32_t>(*bytes + i * 4);
    return words;
  }
  [[nodiscard]] Result<std::uint64_t> load(std::uint64_t address, std::uint64_t bytes) noexcept {
    const auto at = memory_.at(address, bytes, Permission::read, &fault_.access);
    if (!at) return pass(at);
    return read(*at, bytes);
  }
  [[nodiscard]] Result<void> store(const pm4::PacketView& packet, std::uint64_t address, std::uint64_t value,
                                   std::uint64_t bytes) noexcept {
    const auto at = memory_.at(address, bytes, Permission::write, &fault_.access);
    if (!at) return pass(at);
    if (auto r = coherence_.packet_overwrites(memory_, address, bytes, packet.kind->name); !r) return r;
    const bool into_l2 = packet.get("DST_SEL") == 2;
    if (auto r = coherence_.packet_writes(memory_, address, bytes, packet.kind->name, into_l2); !r) return r;
    write(*at, value, bytes);
    return {};
  }
  /// A word of 4 or 8 bytes.
  [[nodiscard]] static std::uint64_t read(const std::byte* at, std::uint64_t bytes) noexcept {
    return bytes == 8 ? read_little<std::uint64_t>(at) : read_little<std::uint32_t>(at);
  }
  static void write(std::byte* at, std::uint64_t value, std::uint64_t bytes) noexcept {
    if (bytes == 8)
      write_little(at, value);
    else
      write_little(at, static_cast<std::uint32_t>(value));
  }

  const AddressSpace& memory_;
  ComputeState state_;
  pm4::Generation generation_;
  Allocator allocator_;
  Coherence coherence_;
  QueueCounters counters_{};
  QueueFault fault_{};
  // The indirect buffer that is being executed, and how far.
  Vector<std::uint32_t> buffer_;
  std::size_t buffer_at_ = 0;
  Span<const std::uint32_t> behind_{};  ///< the packet that is being executed
  bool waiting_ = false;
  bool loses_fence_ = false;
  bool any_address_ = true;
  std::optional<bool> inherits_{};
  Error wait_{};
  std::uint64_t clock_ = 0;  ///< a tick for each packet and for each instruction of a wave
  std::uint64_t packets_left_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::emulator
