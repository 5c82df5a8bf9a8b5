// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/vector_memory.hpp: loads, stores and atomics of global, flat, scratch and local memory.
#pragma once

#include <zrt/emulator/accesses.hpp>
#include <zrt/emulator/lane_words.hpp>
#include <zrt/emulator/scalars.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// The addresses of an instruction's lanes: src[0] vector address, src[1] scalar base.
struct Addresses {
  u64 lane[kLanes];
  Segment segment;

  /// `half` of the wave; inactive lanes have no address.
  Addresses(const Wave& w, const Decoded& d, Segment s, unsigned half) noexcept : segment(s) {
    const Operand& vector = d.src[0];
    const Operand& scalar = d.src[1];
    const auto immediate = static_cast<u64>(i64{d.offset});
    const bool has_vector = vector.kind == Operand::Kind::vgpr;
    const bool has_scalar = scalar.kind == Operand::Kind::sgpr;
    const u32* low = has_vector ? w.vgpr(half, vector.index) : nullptr;
    if (s == Segment::local) {
      for (unsigned i = 0; i < kLanes; ++i) lane[i] = u64{low[i]} + immediate;
    } else if (s == Segment::scratch) {
      const u32 base = (has_scalar ? w.sgpr[scalar.index] : 0) + static_cast<u32>(d.offset);
      for (unsigned i = 0; i < kLanes; ++i) lane[i] = static_cast<u32>(base + (has_vector ? low[i] : 0));
    } else if (has_scalar) {
      const u64 base = (w.sgpr[scalar.index] | u64{w.sgpr[scalar.index + 1]} << 32) + immediate;
      for (unsigned i = 0; i < kLanes; ++i) lane[i] = base + (has_vector ? low[i] : 0);
    } else {
      const u32* high = w.vgpr(half, vector.index + 1u);
      for (unsigned i = 0; i < kLanes; ++i) lane[i] = (low[i] | u64{high[i]} << 32) + immediate;
    }
  }
};

/// Where an access goes: the apertures of a flat one lead to the other segments.
[[nodiscard]] constexpr Segment segment_of(Segment segment, u64 address) noexcept {
  if (segment != Segment::flat) return segment;
  const auto high = static_cast<u32>(address >> 32);
  return high == kSharedAperture ? Segment::local : high == kPrivateAperture ? Segment::scratch : Segment::global;
}

/// Moves the bytes of one lane's access between memory and `data`; false where the address is bad.
[[nodiscard]] inline bool move_lane(Wave& w, u64 address, Segment instruction, unsigned bytes, bool store, u32 lane,
                                    std::byte* data, TrafficMeter& meter) noexcept {
  const Segment segment = segment_of(instruction, address);
  if (instruction == Segment::flat && segment != Segment::global) address = static_cast<u32>(address);
  const Permission wanted = store ? Permission::write : Permission::read;
  if (segment == Segment::local) {
    std::byte* at = local_memory(w, address, bytes);
    if (at == nullptr) return false;
    store ? std::memcpy(at, data, bytes) : std::memcpy(data, at, bytes);
    w.group->counters->lds_bytes += bytes;
    return true;
  }
  if (segment == Segment::scratch) {
    if (address > w.scratch_per_lane || bytes > w.scratch_per_lane - address) return false;
    for (unsigned i = 0; i < bytes; ++i) {
      const u64 at = scratch_address(w.scratch, w.lanes(), lane, address + i);
      const MappedRegion* region = region_of(w, at, 1, wanted);
      if (region == nullptr) return false;
      std::byte& byte = region->bytes[at - region->address];
      store ? void(byte = data[i]) : void(data[i] = byte);
      if (i == 0) meter.lane(region, at);
    }
    return true;
  }
  const MappedRegion* region = region_of(w, address, bytes, wanted);
  if (region == nullptr) return false;
  if (!is_ordered(w, *region, address, bytes, store)) return false;
  std::byte* at = region->bytes.data() + (address - region->address);
  store ? std::memcpy(at, data, bytes) : std::memcpy(data, at, bytes);
  meter.lane(region, address);
  return true;
}

/// Puts a loaded value of at most 32 bits into its register.
[[nodiscard]] constexpr u32 extended(u32 old, u32 value, ElementAccess access) noexcept {
  using Extend = ElementAccess::Extend;
  if (access.extend == Extend::sign || access.extend == Extend::low_half_sign ||
      access.extend == Extend::high_half_sign)
    value = access.bytes == 1 ? static_cast<u32>(i32{static_cast<i8>(value)})
                              : static_cast<u32>(i32{static_cast<i16>(value)});
  switch (access.extend) {
    case Extend::low_half:
    case Extend::low_half_sign:
      return (old & 0xffff0000u) | (value & 0xffffu);
    case Extend::high_half:
    case Extend::high_half_sign:
      return (old & 0xffffu) | value << 16;
    default:
      return value;
  }
}

/// The counter that a vector memory instruction raises.
template <Segment kSegment> void issue(Wave& w, const Decoded& d, bool returns) noexcept {
  RegisterRange registers;
  if (returns) registers = {d.dst.index, static_cast<u8>(words(d.instruction->semantics.dst)), false};
  if constexpr (kSegment == Segment::local) {
    w.waits.issue(WaitCounter::ds, registers);
  } else {
    w.waits.issue(returns ? WaitCounter::load : WaitCounter::store, registers);
    // A flat access may go to local memory: it counts there too.
    if constexpr (kSegment == Segment::flat) w.waits.issue(WaitCounter::ds, registers);
  }
}

/// Host memory behind all active lanes of one access, where one region (or the LDS) holds them all.
struct LaneMemory {
  std::byte* origin = nullptr;  ///< null where each lane needs a look of its own
  u64 first = 0;                ///< the address at `origin`

  [[nodiscard]] std::byte* operator[](u64 address) const noexcept { return origin + (address - first); }
};
/// True where the accesses of the active lanes, from `low` on, meet nowhere and leave no gap below `low + span`.
[[nodiscard]] inline bool fills_span(const u64* lanes, u32 active, u64 low, u64 span, unsigned bytes) noexcept {
  const auto count = static_cast<u32>(std::popcount(active));
  if (u64{count} * bytes != span) return false;
  u32 places = 0;
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1u) == 0) continue;
    const u64 offset = lanes[i] - low;
    if (offset % bytes != 0) return false;
    places |= u32{1} << offset / bytes;
  }
  return static_cast<u32>(std::popcount(places)) == count;
}
template <Segment kSegment>
[[nodiscard]] LaneMemory lane_memory(Wave& w, const Addresses& a, u32 active, unsigned bytes, bool store) noexcept {
  if (kSegment != Segment::global && kSegment != Segment::local) return {};
  const AddressSpread spread(a.lane, bytes);
  u64 low = spread.low, high = spread.high, bits = spread.bits;
  if (active != ~u32{0}) {
    low = ~u64{0};
    high = bits = 0;
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1u) == 0) continue;
      low = a.lane[i] < low ? a.lane[i] : low;
      high = a.lane[i] > high ? a.lane[i] : high;
      bits |= a.lane[i];
    }
  }
  const u64 reach = high - low;
  if (bits % alignment_of(w, kSegment, bytes) != 0) return {};
  if (active == 0 || reach > u64{1} << 48) return {};
  if constexpr (kSegment == Segment::local) {
    if (local_memory(w, low, reach + bytes) == nullptr) return {};
    w.group->counters->lds_bytes += u64{static_cast<u32>(std::popcount(active))} * bytes;
    return {w.group->lds.data(), 0};
  } else {
    const MappedRegion* region = region_of(w, low, reach + bytes, store ? Permission::write : Permission::read);
    if (region == nullptr) return {};
    if (const Coherence* const coherence = w.group->coherence;
        coherence != nullptr && (store || coherence->suspects(*region, Cache::vector))) {
      // What lies apart is left to each lane.
      if (!fills_span(a.lane, active, low, reach + bytes, bytes) || !is_ordered(w, *region, low, reach + bytes, store))
        return {};
    }
    TrafficMeter meter(w, bytes, store);
    if (active == ~u32{0})
      meter.all(region, spread);
    else
      for (unsigned i = 0; i < kLanes; ++i)
        if ((active >> i & 1u) != 0) meter.lane(region, a.lane[i]);
    meter.flush();
    return {region->bytes.data(), region->address};
  }
}

/// All 32 lanes of an access that lie in a run, or at one address.
struct PatternAccess {
  LanePattern pattern = LanePattern::any;
  std::byte* at = nullptr;  ///< null where lanes need a look of their own

  [[nodiscard]] std::byte* operator()(unsigned lane, unsigned bytes) const noexcept {
    return at + (pattern == LanePattern::run ? std::size_t{lane} * bytes : 0);
  }
};
/// Finds the memory of such an access, and counts it.
template <Segment kSegment>
[[nodiscard]] PatternAccess pattern_access(Wave& w, const Decoded& d, unsigned half, unsigned bytes,
                                           bool store) noexcept {
  if (kSegment != Segment::global && kSegment != Segment::local) return {};
  const Operand& vector = d.src[0];
  const Operand& scalar = d.src[1];
  if (vector.kind != Operand::Kind::vgpr) return {};
  const u32* const offsets = w.vgpr(half, vector.index);
  PatternAccess p{pattern_of(offsets, bytes)};
  // Of stores to one address the last lane's stays: that is for a look at each.
  if (p.pattern == LanePattern::any || (store && p.pattern == LanePattern::same)) return {};
  const u64 span = p.pattern == LanePattern::run ? u64{kLanes} * bytes : bytes;
  u64 address = offsets[0] + static_cast<u64>(i64{d.offset});
  if constexpr (kSegment == Segment::local) {
    if (address % alignment_of(w, kSegment, bytes) != 0) return {};
    // Of lanes of 12 bytes in a run not all are.
    if (p.pattern == LanePattern::run && !std::has_single_bit(bytes) && !w.group->any_address) return {};
    p.at = local_memory(w, address, span);
    if (p.at != nullptr) w.group->counters->lds_bytes += u64{kLanes} * bytes;
    return p;
  } else {
    if (scalar.kind == Operand::Kind::sgpr) {
      address += w.sgpr[scalar.index] | u64{w.sgpr[scalar.index + 1]} << 32;
    } else {
      const u32* const high = w.vgpr(half, vector.index + 1u);
      u32 differ = 0;
      for (unsigned i = 0; i < kLanes; ++i) differ |= high[i] ^ high[0];
      if (differ != 0) return {};
      address += u64{high[0]} << 32;
    }
    if (address % alignment_of(w, kSegment, bytes) != 0) return {};
    const MappedRegion* region = region_of(w, address, span, store ? Permission::write : Permission::read);
    if (region == nullptr) return {};
    if (!is_ordered(w, *region, address, span, store)) return {};
    if (region->id < w.group->counters->regions.size()) {
      RegionTraffic& t = w.group->counters->regions[region->id];
      (store ? t.bytes_written : t.bytes_read) += span;
      t.loads += !store;
      t.load_runs += !store;
    }
    p.at = region->bytes.data() + (address - region->address);
    return p;
  }
}

/// Loads kWords words of each active lane.
template <unsigned kWords> void copy_words(const LaneMemory& memory, const Addresses& a, u32 active, u32* to) noexcept {
  if (active == ~u32{0}) return load_lanes<kWords>([&](unsigned lane) { return memory[a.lane[lane]]; }, to);
  for (unsigned i = 0; i < kLanes; ++i) {
    if ((active >> i & 1u) == 0) continue;
    const std::byte* from = memory[a.lane[i]];
    for (unsigned word = 0; word < kWords; ++word) to[word * kLanes + i] = read_little<u32>(from + word * 4);
  }
}

template <Segment kSegment> Flow vector_load(Wave& w, const Decoded& d) noexcept {
  const ElementAccess access = d.instruction->semantics.access;
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32 active = w.exec(half);
    if (active == 0) continue;
    u32* to = w.vgpr(half, d.dst.index);
    const unsigned count = access.bytes / 4;
    if (active == ~u32{0} && count != 0) {
      if (const auto all = pattern_access<kSegment>(w, d, half, access.bytes, false); all.at != nullptr) {
        with_words(count,
                   [&](auto words) { load_lanes<words()>([&](unsigned lane) { return all(lane, words() * 4); }, to); });
        continue;
      }
    }
    const Addresses a(w, d, kSegment, half);
    const LaneMemory memory = lane_memory<kSegment>(w, a, active, access.bytes, false);
    if (memory.origin != nullptr && count != 0) {
      with_words(count, [&](auto words) { copy_words<words()>(memory, a, active, to); });
      continue;
    }
    if (memory.origin != nullptr) {
      // Of one or two bytes.
      for (unsigned i = 0; i < kLanes; ++i) {
        if ((active >> i & 1u) == 0) continue;
        const std::byte* const at = memory[a.lane[i]];
        to[i] = extended(to[i], access.bytes == 1 ? std::to_integer<u32>(*at) : u32{read_little<u16>(at)}, access);
      }
      continue;
    }
    TrafficMeter meter(w, access.bytes, false);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1u) == 0) continue;
      if (const unsigned alignment = alignment_of(w, segment_of(kSegment, a.lane[i]), access.bytes);
          a.lane[i] % alignment != 0)
        return misaligned(w, d, a.lane[i], alignment, half * kLanes + i);
      std::byte data[16]{};
      if (!move_lane(w, a.lane[i], kSegment, access.bytes, false, half * kLanes + i, data, meter))
        return memory_fault(w, d, a.lane[i], access.bytes, false, half * kLanes + i);
      if (access.extend != ElementAccess::Extend::none) {
        to[i] = extended(to[i], read_little<u32>(data), access);
      } else {
        for (unsigned word = 0; word * 4 < access.bytes; ++word)
          to[word * kLanes + i] = read_little<u32>(data + word * 4);
      }
    }
    meter.flush();
  }
  issue<kSegment>(w, d, true);
  return Flow::next;
}

template <Segment kSegment> Flow vector_store(Wave& w, const Decoded& d) noexcept {
  const ElementAccess access = d.instruction->semantics.access;
  const Operand& source = d.src[2];
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32 active = w.exec(half);
    if (active == 0) continue;
    const u32* from = w.vgpr(half, source.index);
    if (active == ~u32{0} && access.bytes >= 4) {
      if (const auto all = pattern_access<kSegment>(w, d, half, access.bytes, true); all.at != nullptr) {
        with_words(access.bytes / 4, [&](auto words) {
          store_lanes<words()>(from, [&](unsigned lane) { return all(lane, words() * 4); });
        });
        continue;
      }
    }
    const Addresses a(w, d, kSegment, half);
    TrafficMeter meter(w, access.bytes, true);
    const LaneMemory memory = lane_memory<kSegment>(w, a, active, access.bytes, true);
    if (memory.origin != nullptr && active == ~u32{0} && access.bytes >= 4) {
      with_words(access.bytes / 4,
                 [&](auto words) { store_lanes<words()>(from, [&](unsigned lane) { return memory[a.lane[lane]]; }); });
      continue;
    }
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1u) == 0) continue;
      if (const unsigned alignment = alignment_of(w, segment_of(kSegment, a.lane[i]), access.bytes);
          a.lane[i] % alignment != 0)
        return misaligned(w, d, a.lane[i], alignment, half * kLanes + i);
      std::byte data[16]{};
      for (unsigned word = 0; word == 0 || word * 4 < access.bytes; ++word) {
        const u32 value = from[word * kLanes + i];
        write_little<u32>(data + word * 4, access.extend == ElementAccess::Extend::high_half ? value >> 16 : value);
      }
      if (memory.origin != nullptr)
        std::memcpy(memory[a.lane[i]], data, access.bytes);
      else if (!move_lane(w, a.lane[i], kSegment, access.bytes, true, half * kLanes + i, data, meter))
        return memory_fault(w, d, a.lane[i], access.bytes, true, half * kLanes + i);
    }
    meter.flush();
  }
  issue<kSegment>(w, d, false);
  return Flow::next;
}

namespace detail {

/// Replaces *at by F(*at, data) in one step and returns what was there.
template <auto F, class T> [[nodiscard]] T exchange_atomically(std::byte* at, T data, T compare) noexcept {
  using Word = std::conditional_t<sizeof(T) == 8, u64, u32>;
  Word* word = reinterpret_cast<Word*>(at);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    const auto next = std::bit_cast<Word>(F(std::bit_cast<T>(old), data, compare));
    if (__atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return std::bit_cast<T>(old);
  }
}

template <Segment kSegment, auto F, class T> struct AtomicFunction {
  static Flow run(Wave& w, const Decoded& d) noexcept {
    const bool local = kSegment == Segment::local;
    for (unsigned half = 0; half < w.halves; ++half) {
      const u32 active = w.exec(half);
      if (active == 0) continue;
      const Addresses a(w, d, kSegment, half);
      TrafficMeter meter(w, sizeof(T), true);
      for (unsigned i = 0; i < kLanes; ++i) {
        if ((active >> i & 1u) == 0) continue;
        const u64 address = a.lane[i];
        if (address % sizeof(T) != 0) return misaligned(w, d, address, sizeof(T), half * kLanes + i);
        std::byte* memory = nullptr;
        if (local) {
          memory = local_memory(w, address, sizeof(T));
        } else if (const MappedRegion* region =
                       region_of(w, address, sizeof(T), Permission::read | Permission::write)) {
          if (is_write_ordered(w, *region, address, sizeof(T), MemoryUse::atomic)) {
            memory = region->bytes.data() + (address - region->address);
            meter.lane(region, address);
          }
        }
        if (memory == nullptr) return memory_fault(w, d, address, sizeof(T), true, half * kLanes + i);
        // Local memory's second value has a register field of its own; elsewhere it follows the first.
        const bool own_field = local && d.src[1].kind == Operand::Kind::vgpr;
        const T old =
            exchange_atomically<F, T>(memory, word(w, half, d.src[2].index, i, 0),
                                      word(w, half, own_field ? d.src[1].index : d.src[2].index, i, own_field ? 0 : 1));
        if (d.returns) {
          const auto bits = bits_of(old);
          w.vgpr(half, d.dst.index)[i] = static_cast<u32>(bits);
          if constexpr (sizeof(T) == 8) w.vgpr(half, d.dst.index + 1u)[i] = static_cast<u32>(bits >> 32);
        }
      }
      meter.flush();
    }
    issue<kSegment>(w, d, d.returns);
    return Flow::next;
  }

 private:
  /// The `number`-th value of the data registers, of which an exchange with comparison has two.
  static T word(const Wave& w, unsigned half, unsigned first, unsigned lane, unsigned number) noexcept {
    constexpr unsigned kWords = sizeof(T) / 4;
    if (number != 0 && first + 2 * kWords > w.vgpr_count) number = 0;
    const u32 low = w.vgpr(half, first + number * kWords)[lane];
    if constexpr (kWords == 2)
      return std::bit_cast<T>(low | u64{w.vgpr(half, first + number * kWords + 1)[lane]} << 32);
    else
      return std::bit_cast<T>(low);
  }
};

template <Segment kSegment, auto F, class T> constexpr Semantics atomic_semantics(Type data) noexcept {
  Semantics s;
  s.run = &AtomicFunction<kSegment, F, T>::run;
  s.dst = kTypeOf<T>;
  s.src = {kSegment == Segment::local ? Type::u32 : Type::u64, kSegment == Segment::local ? Type::none : Type::u64,
           data};
  s.sources = 3;
  s.access = {static_cast<u8>(sizeof(T)), ElementAccess::Extend::none, true, true};
  return s;
}

template <Segment kSegment, auto F, class T> constexpr Semantics deduce_atomic(T (*)(T, T, T)) noexcept {
  return atomic_semantics<kSegment, F, T>(kTypeOf<T>);
}

}  // namespace detail

/// The semantics of an atomic: F(old, data, second data) is the new value.
template <Segment kSegment, auto F> inline constexpr Semantics kAtomicOf = detail::deduce_atomic<kSegment, F>(+F);

/// The type of a value of so many bytes in registers.
[[nodiscard]] constexpr Type data_type(unsigned bytes) noexcept {
  return bytes <= 4 ? Type::u32 : bytes == 8 ? Type::u64 : bytes == 12 ? Type::b96 : Type::b128;
}

template <Segment kSegment>
[[nodiscard]] constexpr Semantics load_of(u8 bytes,
                                          ElementAccess::Extend extend = ElementAccess::Extend::none) noexcept {
  Semantics s;
  s.run = &vector_load<kSegment>;
  s.dst = data_type(bytes);
  const bool narrow = kSegment == Segment::local || kSegment == Segment::scratch;
  const Type base = kSegment == Segment::local ? Type::none : kSegment == Segment::scratch ? Type::u32 : Type::u64;
  s.src = {narrow ? Type::u32 : Type::u64, base, Type::none};
  s.sources = 2;
  s.access = {bytes, extend, false, false};
  return s;
}

template <Segment kSegment>
[[nodiscard]] constexpr Semantics store_of(u8 bytes,
                                           ElementAccess::Extend extend = ElementAccess::Extend::none) noexcept {
  Semantics s = load_of<kSegment>(bytes, extend);
  s.run = &vector_store<kSegment>;
  s.dst = Type::none;
  s.src[2] = data_type(bytes);
  s.sources = 3;
  s.access.store = true;
  return s;
}

}  // namespace zrt::inline ZRT_ABI::emulator
