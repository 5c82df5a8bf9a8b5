// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/block_rows.hpp: blocks of sixteen weight rows at once; their meaning stands with those in plain C++.
//
// AVX512_VNNI multiplies unsigned by signed bytes without saturation, so weights go in with 128 added,
// which costs one operation where an absolute value and a sign cost three.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_BLOCK_ROWS)
#define ZRT_BACKEND_CPU_KERNELS_BLOCK_ROWS

#include <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/quant/types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/block_rows.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// What the types with one f16 scale at the front of a block share.
struct F16Scales {
  static constexpr bool kHasOffset = false;

  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 scales(const std::byte* const* rows, std::size_t at) noexcept {
    return load_f16_of_rows(rows, at);
  }
};

#if ZRT_VARIANT == 1

/// What is added to a weight's byte in a panel.
inline constexpr int kPanelBias = 0;

/// Writes eight words of four bytes, from `at` on, of sixteen rows as [8][16 rows].
ZRT_ALWAYS_INLINE void words_of_rows(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
  for (std::size_t r = 0; r < 16; ++r)
    for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * 64 + r * 4, rows[r] + at + i * 4, 4);
}

/// Q8_0: 2 bytes of scale, 32 signed bytes.
struct Q8Rows : F16Scales {
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return 34; }
  /// What `sums` counts too much, times the sum of the activations.
  static constexpr std::int32_t kExcess = 0;

  /// Lane r: the exact sum over the block at rows[r] + at, plus kExcess times the sum of x.
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return from_lanes<I32>([&](std::size_t r) { return dot_i8x32(rows[r] + at + 2, x); });
  }
  /// Writes the block's integers plus kPanelBias as [8][16 rows][4].
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    for (std::size_t r = 0; r < 16; ++r)
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * 64 + r * 4, rows[r] + at + 2 + i * 4, 4);
  }
};

/// Q4_0: 2 bytes of scale, 16 bytes of halves.
struct Q4Rows : F16Scales {
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return 18; }
  static constexpr std::int32_t kExcess = 0;

  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return from_lanes<I32>([&](std::size_t r) { return dot_nibbles32(rows[r] + at + 2, x); });
  }
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    for (std::size_t r = 0; r < 16; ++r) {
      std::int8_t q[32];
      quant::Layout<DType::q4_0>::unpack(rows[r] + at, q);
      for (std::size_t i = 0; i < 8; ++i) std::memcpy(out + i * 64 + r * 4, q + i * 4, 4);
    }
  }
};

#else  // AVX2 and AVX-512

inline constexpr int kPanelBias = kIsa == Isa::v4 ? 128 : 0;

[[nodiscard]] ZRT_ALWAYS_INLINE __m128i load_16(const void* p) noexcept {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
/// Sixteen bytes of one row, then sixteen of another.
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i load_two(const std::byte* a, const std::byte* b) noexcept {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load_16(a)), load_16(b), 1);
}
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i flip_sign(__m256i bytes) noexcept {
  return _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
}

/// Transposes eight rows of eight 32-bit words and stores word i of all rows at out + 64 i.
ZRT_ALWAYS_INLINE void store_transposed(const __m256i* rows, std::byte* out) noexcept {
  __m256i pairs[8];
  unroll<4>([&](std::size_t i) ZRT_UNROLLED {
    pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  });
  __m256i quads[8];
  unroll<2>([&](std::size_t i) ZRT_UNROLLED {
    quads[4 * i] = _mm256_unpacklo_epi64(pairs[4 * i], pairs[4 * i + 2]);
    quads[4 * i + 1] = _mm256_unpackhi_epi64(pairs[4 * i], pairs[4 * i + 2]);
    quads[4 * i + 2] = _mm256_unpacklo_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
    quads[4 * i + 3] = _mm256_unpackhi_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
  });
  unroll<4>([&](std::size_t i) ZRT_UNROLLED {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * 64),
                        _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + (i + 4) * 64),
                        _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31));
  });
}

ZRT_ALWAYS_INLINE void words_of_rows(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
  for (std::size_t h = 0; h < 2; ++h) {
    __m256i eight[8];
    unroll<8>([&](std::size_t r) ZRT_UNROLLED { eight[r] = load_32(rows[8 * h + r] + at); });
    store_transposed(eight, out + 32 * h);
  }
}

/// Activations of one block, each half twice.
struct TwiceHalves {
  __m256i first;
  __m256i second;
};

/// Sums of eight rows. Rows i and i + 4 share a register, a half each (`Q::two_rows`), so that two
/// horizontal sums put the eight answers in order.
template <class Q>
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i eight_sums(const std::byte* const* rows, std::size_t at,
                                                   const TwiceHalves& x) noexcept {
  const __m256i low =
      _mm256_hadd_epi32(Q::two_rows(rows[0] + at, rows[4] + at, x), Q::two_rows(rows[1] + at, rows[5] + at, x));
  const __m256i high =
      _mm256_hadd_epi32(Q::two_rows(rows[2] + at, rows[6] + at, x), Q::two_rows(rows[3] + at, rows[7] + at, x));
  return _mm256_hadd_epi32(low, high);
}
template <class Q>
[[nodiscard]] ZRT_ALWAYS_INLINE I32 sixteen_sums(const std::byte* const* rows, std::size_t at,
                                                 const std::int8_t* x) noexcept {
  const TwiceHalves halves{_mm256_broadcastsi128_si256(load_16(x)), _mm256_broadcastsi128_si256(load_16(x + 16))};
  return join(eight_sums<Q>(rows, at, halves), eight_sums<Q>(rows + 8, at, halves));
}

struct Q8Rows : F16Scales {
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return 34; }
  static constexpr std::int32_t kExcess = kIsa == Isa::v4 ? 128 : 0;

  /// Four partial sums for each of two blocks.
  [[nodiscard]] ZRT_ALWAYS_INLINE static __m256i two_rows(const std::byte* a, const std::byte* b,
                                                          const TwiceHalves& x) noexcept {
    const __m256i first = load_two(a + 2, b + 2);
    const __m256i second = load_two(a + 18, b + 18);
    const __m256i zero = _mm256_setzero_si256();
    if constexpr (kIsa == Isa::v4)
      return dot4_unsigned8(dot4_unsigned8(zero, flip_sign(first), x.first), flip_sign(second), x.second);
    else
      return dot4_8(dot4_8(zero, first, x.first), second, x.second);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return sixteen_sums<Q8Rows>(rows, at, x);
  }
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    for (std::size_t h = 0; h < 2; ++h) {
      __m256i eight[8];
      unroll<8>([&](std::size_t r) ZRT_UNROLLED {
        const __m256i weights = load_32(rows[8 * h + r] + at + 2);
        eight[r] = kIsa == Isa::v4 ? flip_sign(weights) : weights;
      });
      store_transposed(eight, out + 32 * h);
    }
  }
};

struct Q4Rows : F16Scales {
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return 18; }
  static constexpr std::int32_t kExcess = 8;

  [[nodiscard]] ZRT_ALWAYS_INLINE static __m256i two_rows(const std::byte* a, const std::byte* b,
                                                          const TwiceHalves& x) noexcept {
    const __m256i bytes = load_two(a + 2, b + 2);
    const __m256i first = _mm256_and_si256(bytes, _mm256_set1_epi8(15));
    const __m256i second = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    if constexpr (kIsa == Isa::v4) {
      return dot4_unsigned8(dot4_unsigned8(_mm256_setzero_si256(), first, x.first), second, x.second);
    } else {
      // Four products of 15 * 127 fit 16 bits.
      const __m256i pairs =
          _mm256_add_epi16(_mm256_maddubs_epi16(first, x.first), _mm256_maddubs_epi16(second, x.second));
      return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return sixteen_sums<Q4Rows>(rows, at, x);
  }
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    const __m256i bias = _mm256_set1_epi8(static_cast<char>(kPanelBias - 8));
    for (std::size_t h = 0; h < 2; ++h) {
      __m256i eight[8];
      unroll<8>([&](std::size_t r) ZRT_UNROLLED {
        const __m128i bytes = load_16(rows[8 * h + r] + at + 2);
        const __m256i halves = _mm256_set_m128i(_mm_srli_epi16(bytes, 4), bytes);
        eight[r] = _mm256_add_epi8(_mm256_and_si256(halves, _mm256_set1_epi8(15)), bias);
      });
      store_transposed(eight, out + 32 * h);
    }
  }
};

#endif

#endif
