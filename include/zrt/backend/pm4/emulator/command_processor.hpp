// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/emulator/command_processor.hpp: executes packet streams on the memory of the device model.
#pragma once

#include <zrt/backend/pm4/dispatch.hpp>
#include <zrt/backend/pm4/emulator/compute_state.hpp>
#include <zrt/core/vector.hpp>

namespace zrt::inline ZRT_ABI::pm4::emulator {

/// What a queue has done.
struct QueueCounters {
  std::uint64_t packets = 0;
  std::uint64_t dispatches = 0;
  std::uint64_t fences = 0;
  std::uint64_t interrupts = 0;
  std::uint64_t progress_signals = 0;  ///< PROTECTED_FENCE_SIGNAL
};

/// Executes the packets of a compute queue, one after the other, each done before the next begins.
///
/// It refuses what PacketReader refuses, reads and writes of what is not mapped, waits that nothing can end, and what
/// it does not model, by name. It does not model caches: a stream that lacks a barrier is not found here.
class CommandProcessor {
 public:
  /// Packets that one run may execute, chains of indirect buffers included.
  static constexpr std::uint64_t kMostPackets = std::uint64_t{1} << 18;

  CommandProcessor(const AddressSpace& memory, const TargetFacts& target,
                   Allocator allocator = system_allocator()) noexcept
      : memory_(memory), state_(target.generation), generation_(target.generation), allocator_(allocator) {}

  /// Runs a ring's packets; `dispatch(const Dispatch&, const AddressSpace&)` runs a grid and gives a Result<void>.
  ///
  /// Errors: those of PacketReader and of `dispatch`; Errc::spec_violation for memory; limit_exceeded for a wait that
  /// cannot end and for chains without end; unimplemented.
  template <class Run> [[nodiscard]] Result<void> run(std::span<const std::uint32_t> ring, Run&& dispatch) noexcept {
    packets_left_ = kMostPackets;
    return run_stream(ring, Place::ring, dispatch);
  }

  [[nodiscard]] const QueueCounters& counters() const noexcept { return counters_; }

 private:
  template <class Run>
  Result<void> run_stream(std::span<const std::uint32_t> stream, Place place, Run& dispatch) noexcept {
    PacketReader reader(stream, generation_, place);
    Vector<std::uint32_t> chained(allocator_);
    while (!reader.done()) {
      const auto packet = reader.next();
      if (!packet) return pass(packet);
      if (packets_left_-- == 0)
        return fail(Errc::limit_exceeded, "a queue has executed ", kMostPackets, " packets of one submission");
      ++counters_.packets;
      if (packet->kind == &kIndirectBuffer) {
        if (place == Place::indirect_buffer && packet->get("CHAIN") == 0)
          return fail(Errc::unimplemented, "an indirect buffer inside another is not modelled");
        auto words = fetch(packet->get("ADDRESS"), packet->get("SIZE"));
        if (!words) return pass(words);
        if (packet->get("CHAIN") == 0) {
          if (auto r = run_stream(words->span(), Place::indirect_buffer, dispatch); !r) return r;
          continue;
        }
        chained = std::move(*words);
        reader = PacketReader(chained.span(), generation_, place);
        continue;
      }
      if (auto r = execute(*packet, dispatch); !r) return r;
    }
    return {};
  }

  template <class Run> Result<void> execute(const PacketView& packet, Run& dispatch) noexcept {
    const Packet* kind = packet.kind;
    if (kind == &kSetShReg) {
      auto offset = static_cast<std::uint32_t>(packet.get("OFFSET"));
      for (const std::uint32_t value : packet.body()) state_.set(offset++, value);
      return {};
    }
    if (kind == &kDispatchDirect) {
      const auto size = [&](std::string_view name) { return static_cast<std::uint32_t>(packet.get(name)); };
      return start(packet, {size("DIM_X"), size("DIM_Y"), size("DIM_Z")}, dispatch);
    }
    if (kind == &kDispatchIndirect) {
      const auto groups = fetch(packet.get("ADDRESS"), 3);
      if (!groups) return pass(groups);
      return start(packet, {(*groups)[0], (*groups)[1], (*groups)[2]}, dispatch);
    }
    if (kind == &kReleaseMem) return release(packet);
    if (kind == &kWaitRegMem || kind == &kWaitRegMem64) return wait(packet);
    if (kind == &kWriteData) return write_data(packet);
    if (kind == &kCopyData) return copy_data(packet);
    if (kind == &kPredExec) return fail(Errc::unimplemented, "PRED_EXEC is for chips of several dies");
    if (kind == &kProtectedFenceSignal) ++counters_.progress_signals;
    return {};
  }

  template <class Run>
  Result<void> start(const PacketView& packet, const std::array<std::uint32_t, 3>& groups, Run& dispatch) noexcept {
    const auto described = state_.dispatch(packet, groups, memory_);
    if (!described) return pass(described);
    ++counters_.dispatches;
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) return {};
    return dispatch(*described, memory_);
  }

  Result<void> release(const PacketView& packet) noexcept {
    ++counters_.fences;
    if (packet.get("INT_SEL") != 0) ++counters_.interrupts;
    const std::uint64_t data = packet.get("DATA_SEL");
    if (data == 0) return {};
    if (data == 4) return fail(Errc::unimplemented, "RELEASE_MEM of a counter of the command processor");
    const std::uint64_t value = data == 3 ? ++clock_ : packet.get("DATA");
    return store(packet.get("ADDRESS"), value, data == 1 ? 4 : 8);
  }

  Result<void> wait(const PacketView& packet) noexcept {
    const std::uint64_t low = packet.get("ADDRESS_LO"), high = packet.get("ADDRESS_HI");
    if (packet.get("MEM_SPACE") == 0) {
      if (packet.get("OPERATION") == 1 && low == kHdpFlushRequest && high == kHdpFlushDone) return {};
      return fail(Errc::unimplemented, packet.kind->name, " of register ", std::string_view(Hex(low)));
    }
    const std::uint64_t address = high << 32 | low;
    const auto found = load(address, packet.kind == &kWaitRegMem64 ? 8 : 4);
    if (!found) return pass(found);
    const std::uint64_t value = *found & packet.get("MASK"), reference = packet.get("REFERENCE");
    if (holds_true(packet.get("FUNCTION"), value, reference)) return {};
    return fail(Errc::limit_exceeded, packet.kind->name, " waits without end: ", std::string_view(Hex(address)),
                " holds ", std::string_view(Hex(value)), ", reference ", std::string_view(Hex(reference)));
  }

  [[nodiscard]] static bool holds_true(std::uint64_t function, std::uint64_t value, std::uint64_t reference) noexcept {
    switch (static_cast<Compare>(function)) {
      case Compare::always:
        return true;
      case Compare::less:
        return value < reference;
      case Compare::less_equal:
        return value <= reference;
      case Compare::equal:
        return value == reference;
      case Compare::not_equal:
        return value != reference;
      case Compare::greater_equal:
        return value >= reference;
      case Compare::greater:
        return value > reference;
    }
    return false;
  }

  Result<void> write_data(const PacketView& packet) noexcept {
    if (packet.get("DST_SEL") == 0) return fail(Errc::unimplemented, "WRITE_DATA to a register");
    std::uint64_t address = packet.get("ADDRESS");
    for (const std::uint32_t word : packet.body()) {
      if (auto r = store(address, word, 4); !r) return r;
      if (packet.get("ADDR_INCR") == 0) address += 4;
    }
    return {};
  }

  Result<void> copy_data(const PacketView& packet) noexcept {
    const std::uint64_t bytes = packet.get("COUNT_SEL") != 0 ? 8 : 4;
    const std::uint64_t from = packet.get("SRC_SEL");
    if (from == 0 || from == 4 || packet.get("DST_SEL") == 0)
      return fail(Errc::unimplemented, "COPY_DATA of a register or a performance counter");
    Result<std::uint64_t> value = packet.get("SRC");
    if (from == 9) value = ++clock_;
    if (from == 1 || from == 2) value = load(packet.get("SRC"), bytes);
    if (!value) return pass(value);
    return store(packet.get("DST"), *value, bytes);
  }

  [[nodiscard]] Result<Vector<std::uint32_t>> fetch(std::uint64_t address, std::uint64_t count) const noexcept {
    Vector<std::uint32_t> words(allocator_);
    const auto bytes = memory_.at(address, count * 4, Permission::read);
    if (!bytes) return pass(bytes);
    if (auto r = words.resize(count); !r) return pass(r);
    for (std::size_t i = 0; i < count; ++i) words[i] = read_little<std::uint32_t>(*bytes + i * 4);
    return words;
  }
  [[nodiscard]] Result<std::uint64_t> load(std::uint64_t address, std::uint64_t bytes) const noexcept {
    const auto at = memory_.at(address, bytes, Permission::read);
    if (!at) return pass(at);
    return bytes == 8 ? read_little<std::uint64_t>(*at) : read_little<std::uint32_t>(*at);
  }
  [[nodiscard]] Result<void> store(std::uint64_t address, std::uint64_t value, std::uint64_t bytes) const noexcept {
    const auto at = memory_.at(address, bytes, Permission::write);
    if (!at) return pass(at);
    if (bytes == 8)
      write_little(*at, value);
    else
      write_little(*at, static_cast<std::uint32_t>(value));
    return {};
  }

  const AddressSpace& memory_;
  ComputeState state_;
  Generation generation_;
  Allocator allocator_;
  QueueCounters counters_{};
  std::uint64_t clock_ = 0;
  std::uint64_t packets_left_ = 0;
};

}  // namespace zrt::inline ZRT_ABI::pm4::emulator
