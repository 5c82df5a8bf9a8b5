// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/local_memory.hpp: LDS instructions with two addresses, and lane exchange by DS instructions.
#pragma once

#include <zrt/emulator/vector_memory.hpp>

#include <bit>

namespace zrt::inline ZRT_ABI::emulator {

/// ds_load_2addr: two words of `kWords` at offsets in units of kStride words.
template <unsigned kWords, unsigned kStride> Flow load_two(Wave& w, const Decoded& d) noexcept {
  constexpr unsigned kBytes = kWords * 4;
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32 active = w.exec(half);
    const u32* address = w.vgpr(half, d.src[0].index);
    // The destination may begin at the address register.
    Lanes out[2 * kWords];
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1u) == 0) continue;
      for (unsigned n = 0; n < 2; ++n) {
        const u64 at = u64{address[i]} + static_cast<u64>(n == 0 ? d.offset : d.offset1) * kBytes * kStride;
        if (at % alignment_of(w, Segment::local, kBytes) != 0) return misaligned(w, d, at, kBytes, half * kLanes + i);
        const std::byte* memory = local_memory(w, at, kBytes);
        if (memory == nullptr) return memory_fault(w, d, at, kBytes, false, half * kLanes + i);
        for (unsigned word = 0; word < kWords; ++word)
          out[n * kWords + word].lane[i] = read_little<u32>(memory + word * 4);
        w.group->counters->lds_bytes += kBytes;
      }
    }
    for (unsigned word = 0; word < 2 * kWords; ++word) write_lanes(w, d.dst, half, word, out[word].lane, active);
  }
  issue<Segment::local>(w, d, true);
  return Flow::next;
}

/// ds_store_2addr: data of src[2] to the first offset, of src[1] to the second.
template <unsigned kWords, unsigned kStride> Flow store_two(Wave& w, const Decoded& d) noexcept {
  constexpr unsigned kBytes = kWords * 4;
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32 active = w.exec(half);
    const u32* address = w.vgpr(half, d.src[0].index);
    if (active == ~u32{0}) {
      u32 highest = 0, bits = 0;
      for (unsigned i = 0; i < kLanes; ++i) {
        highest = address[i] > highest ? address[i] : highest;
        bits |= address[i];
      }
      const u64 offset[2] = {static_cast<u64>(d.offset) * kBytes * kStride,
                             static_cast<u64>(d.offset1) * kBytes * kStride};
      const u64 further = offset[0] > offset[1] ? offset[0] : offset[1];
      if (bits % alignment_of(w, Segment::local, kBytes) == 0 &&
          local_memory(w, 0, highest + further + kBytes) != nullptr) {
        // Lane after lane: of two that meet the later one's value stays.
        for (unsigned i = 0; i < kLanes; ++i)
          for (unsigned n = 0; n < 2; ++n)
            for (unsigned word = 0; word < kWords; ++word)
              write_little<u32>(w.group->lds.data() + address[i] + offset[n] + word * 4,
                                w.vgpr(half, d.src[n == 0 ? 2 : 1].index + word)[i]);
        w.group->counters->lds_bytes += u64{2} * kLanes * kBytes;
        continue;
      }
    }
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((active >> i & 1u) == 0) continue;
      for (unsigned n = 0; n < 2; ++n) {
        const u64 at = u64{address[i]} + static_cast<u64>(n == 0 ? d.offset : d.offset1) * kBytes * kStride;
        if (at % alignment_of(w, Segment::local, kBytes) != 0) return misaligned(w, d, at, kBytes, half * kLanes + i);
        std::byte* memory = local_memory(w, at, kBytes);
        if (memory == nullptr) return memory_fault(w, d, at, kBytes, true, half * kLanes + i);
        for (unsigned word = 0; word < kWords; ++word)
          write_little<u32>(memory + word * 4, w.vgpr(half, d.src[n == 0 ? 2 : 1].index + word)[i]);
        w.group->counters->lds_bytes += kBytes;
      }
    }
  }
  issue<Segment::local>(w, d, false);
  return Flow::next;
}

template <unsigned kWords, unsigned kStride> [[nodiscard]] constexpr Semantics load_two_of() noexcept {
  return own_function(&load_two<kWords, kStride>, kWords == 1 ? Type::u64 : Type::b128, Type::u32);
}
template <unsigned kWords, unsigned kStride> [[nodiscard]] constexpr Semantics store_two_of() noexcept {
  constexpr Type kData = kWords == 1 ? Type::u32 : Type::u64;
  return own_function(&store_two<kWords, kStride>, Type::none, Type::u32, kData, kData);
}

/// The lane that a byte address means to ds_permute_b32 and ds_bpermute_b32. GFX11 takes it modulo 32, and a wave64 is two
/// passes there, so that neither half sees the other (ISA reference of RDNA3, 16.12); GFX12 reaches the whole wave (LLVM's
/// GCNSubtarget::supportsWaveWideBPermute).
inline u32 addressed_lane(const Wave& w, const Decoded& d, unsigned half, u32 address) noexcept {
  const u32 lane = (address + static_cast<u32>(d.offset)) / 4;
  return w.group->isa == Isa::gfx11 ? half * kLanes + lane % kLanes : lane % w.lanes();
}

/// ds_bpermute_b32: each lane reads src[2] of the lane whose byte address it gives; inactive lanes give 0.
inline Flow bpermute(Wave& w, const Decoded& d) noexcept {
  Lanes out[2];
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32* address = w.vgpr(half, d.src[0].index);
    for (unsigned i = 0; i < kLanes; ++i) {
      const u32 from = addressed_lane(w, d, half, address[i]);
      const bool live = (w.exec_all() >> from & 1u) != 0;
      out[half].lane[i] = live ? w.vgpr(from / kLanes, d.src[2].index)[from % kLanes] : 0;
    }
  }
  for (unsigned half = 0; half < w.halves; ++half) write_lanes(w, d.dst, half, 0, out[half].lane, w.exec(half));
  issue<Segment::local>(w, d, true);
  return Flow::next;
}

/// ds_permute_b32: each active lane sends src[2] to the lane whose byte address it gives; the highest sender wins.
inline Flow permute(Wave& w, const Decoded& d) noexcept {
  Lanes out[2]{};
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32* address = w.vgpr(half, d.src[0].index);
    for (unsigned i = 0; i < kLanes; ++i) {
      if ((w.exec(half) >> i & 1u) == 0) continue;
      const u32 to = addressed_lane(w, d, half, address[i]);
      out[to / kLanes].lane[to % kLanes] = w.vgpr(half, d.src[2].index)[i];
    }
  }
  for (unsigned half = 0; half < w.halves; ++half) write_lanes(w, d.dst, half, 0, out[half].lane, w.exec(half));
  issue<Segment::local>(w, d, true);
  return Flow::next;
}

/// The lane of 32 that lane `i` reads under a control word of ds_swizzle_b32 (ISA reference of RDNA3, 16.12).
constexpr u32 swizzled_lane(u32 control, u32 i) noexcept {
  const u32 mask = control & 31u, by = control >> 5 & 31u;
  if (control >= 0xe000u) {  // the order of a Fourier transform: lane numbers backwards, but for the bits of the mask
    if (mask == 31u) return i;
    u32 backwards = 0;
    for (u32 bit = 0; bit < 5; ++bit) backwards |= (i >> bit & 1u) << (4 - bit);
    return backwards >> std::popcount(mask) | (i & mask);
  }
  if (control >= 0xc000u) return (i & mask) | (((control & 0x400u) != 0 ? i - by : i + by) & 31u & ~mask);
  if (control >= 0x8000u) return (i & ~3u) | (control >> 2 * (i & 3u) & 3u);
  return ((i & mask) | by) ^ (control >> 10 & 31u);
}
static_assert(swizzled_lane(0xe000, 1) == 16 && swizzled_lane(0xe010, 17) == 24 && swizzled_lane(0xe01f, 5) == 5);
static_assert(swizzled_lane(0xc000 | 1 << 5, 31) == 0 && swizzled_lane(0xc400 | 1 << 5, 0) == 31);
static_assert(swizzled_lane(0x80b1, 4) == 5 && swizzled_lane(0xbfb1, 4) == 5 && swizzled_lane(0x201f, 9) == 1);

/// ds_swizzle_b32: each lane reads the lane of its half that the control word names; inactive lanes give 0.
inline Flow swizzle(Wave& w, const Decoded& d) noexcept {
  for (unsigned half = 0; half < w.halves; ++half) {
    const u32* data = w.vgpr(half, d.src[0].index);
    Lanes out;
    for (unsigned i = 0; i < kLanes; ++i) {
      const u32 from = swizzled_lane(static_cast<u32>(d.offset), i);
      out.lane[i] = (w.exec(half) >> from & 1u) != 0 ? data[from] : 0;
    }
    write_lanes(w, d.dst, half, 0, out.lane, w.exec(half));
  }
  issue<Segment::local>(w, d, true);
  return Flow::next;
}

}  // namespace zrt::inline ZRT_ABI::emulator
