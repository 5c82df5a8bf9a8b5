// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/block_rows_x86.inc.hpp: textual fragment: blocks of sixteen weight rows at once, for AVX2 and AVX-512.
//
// The meaning of each operation stands in kernels/block_rows_portable.inc.hpp. AVX512_VNNI multiplies
// unsigned by signed bytes without saturation, so weights go in with 128 added, which costs one
// operation where an absolute value and a sign cost three.

inline constexpr int kPanelBias = kIsa == Isa::v4 ? 128 : 0;

[[nodiscard]] ZRT_ALWAYS_INLINE __m256i flip_sign(__m256i bytes) noexcept {
  return _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
}

/// Sums the eight lanes of each of eight registers: lane r of the answer belongs to p[r].
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i sum_each(const __m256i* p) noexcept {
  const __m256i low = _mm256_hadd_epi32(_mm256_hadd_epi32(p[0], p[1]), _mm256_hadd_epi32(p[2], p[3]));
  const __m256i high = _mm256_hadd_epi32(_mm256_hadd_epi32(p[4], p[5]), _mm256_hadd_epi32(p[6], p[7]));
  return _mm256_add_epi32(_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31));
}

/// Transposes eight rows of eight 32-bit words and stores word i of all rows at out + 64 i.
ZRT_ALWAYS_INLINE void store_transposed(const __m256i* rows, std::byte* out) noexcept {
  __m256i pairs[8];
  for (std::size_t i = 0; i < 4; ++i) {
    pairs[2 * i] = _mm256_unpacklo_epi32(rows[2 * i], rows[2 * i + 1]);
    pairs[2 * i + 1] = _mm256_unpackhi_epi32(rows[2 * i], rows[2 * i + 1]);
  }
  __m256i quads[8];
  for (std::size_t i = 0; i < 2; ++i) {
    quads[4 * i] = _mm256_unpacklo_epi64(pairs[4 * i], pairs[4 * i + 2]);
    quads[4 * i + 1] = _mm256_unpackhi_epi64(pairs[4 * i], pairs[4 * i + 2]);
    quads[4 * i + 2] = _mm256_unpacklo_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
    quads[4 * i + 3] = _mm256_unpackhi_epi64(pairs[4 * i + 1], pairs[4 * i + 3]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * 64),
                        _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + (i + 4) * 64),
                        _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31));
  }
}

/// What both formats do, given the weights of a block as 32 bytes (`Q::weights`) and the product of
/// such bytes with activations (`Q::product`).
template <class Q>
[[nodiscard]] ZRT_ALWAYS_INLINE I32 block_sums(const std::byte* const* rows, std::size_t at,
                                               const std::int8_t* x) noexcept {
  const __m256i activations = load_32(x);
  __m256i half[2];
  for (std::size_t h = 0; h < 2; ++h) {
    const std::byte* const* eight = rows + 8 * h;
    const __m256i p[8] = {Q::product(Q::weights(eight[0] + at), activations), Q::product(Q::weights(eight[1] + at), activations),
                          Q::product(Q::weights(eight[2] + at), activations), Q::product(Q::weights(eight[3] + at), activations),
                          Q::product(Q::weights(eight[4] + at), activations), Q::product(Q::weights(eight[5] + at), activations),
                          Q::product(Q::weights(eight[6] + at), activations), Q::product(Q::weights(eight[7] + at), activations)};
    half[h] = sum_each(p);
  }
  return join(half[0], half[1]);
}

struct Q8Rows {
  static constexpr std::size_t kBytes = 34;
  static constexpr std::int32_t kExcess = kIsa == Isa::v4 ? 128 : 0;

  [[nodiscard]] ZRT_ALWAYS_INLINE static __m256i weights(const std::byte* block) noexcept {
    const __m256i signed_bytes = load_32(block + 2);
    return kIsa == Isa::v4 ? flip_sign(signed_bytes) : signed_bytes;
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static __m256i product(__m256i w, __m256i x) noexcept {
    return kIsa == Isa::v4 ? dot4_unsigned8(_mm256_setzero_si256(), w, x) : dot4_8(_mm256_setzero_si256(), w, x);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return block_sums<Q8Rows>(rows, at, x);
  }
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    for (std::size_t h = 0; h < 2; ++h) {
      __m256i eight[8];
      for (std::size_t r = 0; r < 8; ++r) eight[r] = weights(rows[8 * h + r] + at);
      store_transposed(eight, out + 32 * h);
    }
  }
};

struct Q4Rows {
  static constexpr std::size_t kBytes = 18;
  static constexpr std::int32_t kExcess = 8;

  /// The 32 halves, each within 0..15.
  [[nodiscard]] ZRT_ALWAYS_INLINE static __m256i weights(const std::byte* block) noexcept {
    const __m256i twice = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2)));
    const __m256i shifted = _mm256_srlv_epi32(twice, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
    return _mm256_and_si256(shifted, _mm256_set1_epi8(15));
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static __m256i product(__m256i w, __m256i x) noexcept {
    return dot4_unsigned8(_mm256_setzero_si256(), w, x);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 sums(const std::byte* const* rows, std::size_t at,
                                                  const std::int8_t* x) noexcept {
    return block_sums<Q4Rows>(rows, at, x);
  }
  ZRT_ALWAYS_INLINE static void panel(const std::byte* const* rows, std::size_t at, std::byte* out) noexcept {
    const __m256i bias = _mm256_set1_epi8(static_cast<char>(kPanelBias - 8));
    for (std::size_t h = 0; h < 2; ++h) {
      __m256i eight[8];
      for (std::size_t r = 0; r < 8; ++r) eight[r] = _mm256_add_epi8(weights(rows[8 * h + r] + at), bias);
      store_transposed(eight, out + 32 * h);
    }
  }
};
