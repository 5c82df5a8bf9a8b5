// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/tiles.hpp: AMX tiles: eight registers of sixteen rows, and products of int8 in them.
//
// The instructions stand as text: no compiler needs to know them, and none moves them past each other or past memory.
#pragma once

#include <zrt/backend/cpu/simd/lanes_avx512.hpp>

#include <cstddef>
#include <cstdint>

#if ZRT_HAS_V4

ZRT_FP_BEGIN
ZRT_REGION_BEGIN(ZRT_TARGET_V4)
namespace zrt::inline ZRT_ABI::cpu::v4 {

/// Rows of a tile, and bytes of a row, at most.
inline constexpr std::uint32_t kMostTileRows = 16;
inline constexpr std::uint32_t kTileRowBytes = 64;

/// What LDTILECFG reads: the size of each register (Intel SDM, volume 1, section 18.3).
struct alignas(64) TileSizes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14]{};
  std::uint16_t row_bytes[16]{};
  std::uint8_t rows[16]{};

  constexpr void set(std::size_t tile, std::uint32_t tile_rows, std::uint32_t bytes) noexcept {
    rows[tile] = static_cast<std::uint8_t>(tile_rows);
    row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  }
};
static_assert(sizeof(TileSizes) == 64);

/// The tile registers of this thread, sized and, at the end, given back: a thread that holds none is switched sooner.
class Tiles {
 public:
  explicit Tiles(const TileSizes& sizes) noexcept { __asm__ volatile("ldtilecfg %0" : : "m"(sizes)); }
  ~Tiles() { __asm__ volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

/// Reads a register's rows, which are `stride` bytes apart.
template <int kTile> ZRT_ALWAYS_INLINE void tile_load(const void* rows, std::size_t stride) noexcept {
  __asm__ volatile("{tileloadd (%0,%1,1), %%tmm%c2|tileloadd tmm%c2, [%0+%1*1]}"
                   :
                   : "r"(rows), "r"(stride), "i"(kTile)
                   : "memory");
}
template <int kTile> ZRT_ALWAYS_INLINE void tile_store(void* rows) noexcept {
  __asm__ volatile("{tilestored %%tmm%c2, (%0,%1,1)|tilestored [%0+%1*1], tmm%c2}"
                   :
                   : "r"(rows), "r"(std::size_t{kTileRowBytes}), "i"(kTile)
                   : "memory");
}
template <int kTile> ZRT_ALWAYS_INLINE void tile_zero() noexcept {
  __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
/// Adds to register kSums, [m][n] of int32, the products of kA, [m][4 k] of int8, and kB, [k][n][4] of int8.
template <int kSums, int kA, int kB> ZRT_ALWAYS_INLINE void tile_dot() noexcept {
  __asm__ volatile("{tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0|tdpbssd tmm%c0, tmm%c1, tmm%c2}"
                   :
                   : "i"(kSums), "i"(kA), "i"(kB));
}

/// Adds to each byte, which wraps.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 add_to_bytes(I32 bytes, I32 addend) noexcept {
  return {_mm512_add_epi8(bytes.v, addend.v)};
}

/// Products of sixteen bits as two bytes each: low + 256 · high.
struct SplitBytes {
  I32 low;
  I32 high;
};
/// (byte + addend) · factor for each unsigned byte; addend and factor are the two halves of each lane.
[[nodiscard]] ZRT_ALWAYS_INLINE SplitBytes multiply_bytes(I32 bytes, I32 addend, I32 factor) noexcept {
  const __m512i low_byte = _mm512_set1_epi16(0xff);
  const auto product = [&](__m512i halves)
                           ZRT_UNROLLED { return _mm512_mullo_epi16(_mm512_add_epi16(halves, addend.v), factor.v); };
  const __m512i even = product(_mm512_and_si512(bytes.v, low_byte));
  const __m512i odd = product(_mm512_srli_epi16(bytes.v, 8));
  // The low byte counts as signed, so the high one is rounded to nearest.
  const __m512i half = _mm512_set1_epi16(128);
  const __m512i high_even = _mm512_srli_epi16(_mm512_add_epi16(even, half), 8);
  constexpr int kSelect = 0xca;  // first ? second : third
  return {{_mm512_ternarylogic_epi32(low_byte, even, _mm512_slli_epi16(odd, 8), kSelect)},
          {_mm512_ternarylogic_epi32(low_byte, high_even, _mm512_add_epi16(odd, half), kSelect)}};
}

}  // namespace zrt::inline ZRT_ABI::cpu::v4
ZRT_REGION_END
ZRT_FP_END
#endif
