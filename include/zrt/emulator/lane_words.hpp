// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/lane_words.hpp: moves the words of 32 lanes between memory, lane by lane, and registers.
#pragma once

#include <zrt/core/little_endian.hpp>
#include <zrt/emulator/isa/types.hpp>

#include <bit>
#include <cstring>
#include <type_traits>

namespace zrt::inline ZRT_ABI::emulator {

/// How the addresses of all 32 lanes lie.
enum class LanePattern : u8 {
  any,
  run,   ///< one lane's bytes behind the other's
  same,  ///< all lanes at one address
};

/// The pattern of addresses that are one base and these offsets, of accesses of `bytes` each.
[[nodiscard]] inline LanePattern pattern_of(const u32* offsets, u32 bytes) noexcept {
  const u32 first = offsets[0];
  if (offsets[1] != first && offsets[1] != first + bytes) return LanePattern::any;
  const u32 step = offsets[1] == first ? 0 : bytes;
  // A run stays below 2^32: the offsets are added as they are.
  if (first > ~u32{0} - kLanes * bytes) return LanePattern::any;
  u32 differ = 0;
  for (u32 i = 0; i < kLanes; ++i) differ |= offsets[i] ^ (first + i * step);
  if (differ != 0) return LanePattern::any;
  return step == 0 ? LanePattern::same : LanePattern::run;
}

namespace detail {

typedef u32 FourWords __attribute__((vector_size(16)));

/// Four lanes of four words each become four words of four lanes each; the same turns them back.
ZRT_ALWAYS_INLINE void transpose(FourWords (&v)[4]) noexcept {
  const FourWords a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5);
  const FourWords b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const FourWords c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5);
  const FourWords d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

}  // namespace detail

/// Loads kWords words for every lane, from `from(lane)` on; word n of all lanes lies at to[n * 32].
template <unsigned kWords, class From> ZRT_ALWAYS_INLINE void load_lanes(From&& from, u32* to) noexcept {
  if constexpr (kWords == 4 && std::endian::native == std::endian::little) {
    for (unsigned lane = 0; lane < kLanes; lane += 4) {
      detail::FourWords v[4];
      for (unsigned i = 0; i < 4; ++i) std::memcpy(&v[i], from(lane + i), sizeof v[i]);
      detail::transpose(v);
      for (unsigned word = 0; word < 4; ++word) std::memcpy(to + word * kLanes + lane, &v[word], sizeof v[word]);
    }
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned word = 0; word < kWords; ++word) to[word * kLanes + lane] = read_little<u32>(from(lane) + word * 4);
  }
}

/// Stores kWords words of every lane, in the order of the lanes.
template <unsigned kWords, class To> ZRT_ALWAYS_INLINE void store_lanes(const u32* from, To&& to) noexcept {
  if constexpr (kWords == 4 && std::endian::native == std::endian::little) {
    for (unsigned lane = 0; lane < kLanes; lane += 4) {
      detail::FourWords v[4];
      for (unsigned word = 0; word < 4; ++word) std::memcpy(&v[word], from + word * kLanes + lane, sizeof v[word]);
      detail::transpose(v);
      for (unsigned i = 0; i < 4; ++i) std::memcpy(to(lane + i), &v[i], sizeof v[i]);
    }
  } else {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned word = 0; word < kWords; ++word) write_little<u32>(to(lane) + word * 4, from[word * kLanes + lane]);
  }
}

/// Calls `body` with the number of words as a constant: 1 to 4.
template <class Body> ZRT_ALWAYS_INLINE void with_words(unsigned words, Body&& body) noexcept {
  if (words == 1)
    body(std::integral_constant<unsigned, 1>{});
  else if (words == 2)
    body(std::integral_constant<unsigned, 2>{});
  else if (words == 3)
    body(std::integral_constant<unsigned, 3>{});
  else
    body(std::integral_constant<unsigned, 4>{});
}

}  // namespace zrt::inline ZRT_ABI::emulator
