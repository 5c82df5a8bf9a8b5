// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/unpacked.hpp: blocks of any type that is an integer under scales; its unpacking is called by address.
//
// What multiplies is compiled once for all such types, and a type adds the function that unpacks its block.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_UNPACKED)
#define ZRT_BACKEND_CPU_KERNELS_UNPACKED

#include <zrt/backend/cpu/kernels/block_rows.hpp>
#include <zrt/backend/cpu/kernels/k_blocks.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// A type with blocks of 32 in one run.
struct RunFunctions {
  /// Writes the integers of sixteen rows' blocks as those of Q8_0, two bytes from the front.
  void (*unpack)(const std::byte* const* rows, std::size_t at, std::int8_t (*blocks)[34]) noexcept;
  float (*scale)(const std::byte* block, std::uint32_t run) noexcept;  ///< null for an f16 at the front
  std::uint32_t bytes;
};

/// Whether a layout has a form and its products: one that says `dot` anew means something else by them.
template <class L>
concept HasProductsOfForm =
    std::derived_from<L, quant::BlockForm<L::kDType>> && &L::dot == &quant::BlockForm<L::kDType>::dot;

/// Whether the offset, if there is one, is the f16 behind the scale.
template <class L> [[nodiscard]] consteval bool has_plain_offset() noexcept {
  if constexpr (!L::kHasOffset)
    return true;
  else if constexpr (std::derived_from<L, quant::BlockWithOffset<L::kDType>>)
    return &L::offset == &quant::BlockWithOffset<L::kDType>::offset &&
           &L::offset_sum == &quant::BlockForm<L::kDType>::offset_sum;
  else
    return false;
}

/// Types of quant/forms.hpp with blocks of 32 in one run.
template <class L>
concept UnpackedRun = HasProductsOfForm<L> && L::kElems == kGroup && L::kRun == kGroup && L::kPart == kGroup &&
                      L::kAct == quant::Act::q8_32 && has_plain_offset<L>();
/// Types of quant/forms.hpp with blocks of 256 in parts, without an offset.
template <class L>
concept UnpackedParts = HasProductsOfForm<L> && L::kElems == kWideGroup && L::kRun == kWideGroup &&
                        L::kPart % 16 == 0 && L::kAct == quant::Act::q8_256 && !L::kHasOffset;

}  // namespace zrt::inline ZRT_ABI::cpu

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/unpacked.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Writes the integers of a block.
template <DType kType> void block_integers(const std::byte* block, std::int8_t* q) noexcept {
  quant::Layout<kType>::unpack(block, q);
}

#if ZRT_VARIANT != 1

/// What quant::split_halves gives for sixteen bytes.
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i halves_of(const std::byte* bytes) noexcept {
  const __m128i both = load_16(bytes);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(both, 4), both), _mm256_set1_epi8(15));
}
/// What quant::look_up_halves gives for sixteen bytes.
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i levels_of(const std::int8_t* levels, const std::byte* bytes) noexcept {
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(load_16(levels)), halves_of(bytes));
}
/// What quant::unpack_fifths gives, with `where_clear` in the bytes whose fifth bit is 0.
[[nodiscard]] ZRT_ALWAYS_INLINE __m256i fifths_of(const std::byte* bytes, __m256i where_clear,
                                                  __m256i where_set) noexcept {
  const __m256i spread = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
  const __m256i word = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(quant::read_u32(bytes))), spread);
  const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  const __m256i set = _mm256_cmpeq_epi8(_mm256_and_si256(word, bits), bits);
  return _mm256_or_si256(halves_of(bytes + 4), _mm256_blendv_epi8(where_clear, where_set, set));
}
ZRT_ALWAYS_INLINE void store_32(std::int8_t* q, __m256i bytes) noexcept {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(q), bytes);
}

template <> inline void block_integers<DType::q4_1>(const std::byte* block, std::int8_t* q) noexcept {
  store_32(q, halves_of(block + 4));
}
template <> inline void block_integers<DType::q5_0>(const std::byte* block, std::int8_t* q) noexcept {
  // Less 16 where the fifth bit is clear.
  store_32(q, fifths_of(block + 2, _mm256_set1_epi8(-16), _mm256_setzero_si256()));
}
template <> inline void block_integers<DType::q5_1>(const std::byte* block, std::int8_t* q) noexcept {
  store_32(q, fifths_of(block + 4, _mm256_setzero_si256(), _mm256_set1_epi8(16)));
}
template <> inline void block_integers<DType::iq4_nl>(const std::byte* block, std::int8_t* q) noexcept {
  store_32(q, levels_of(quant::kIq4Levels, block + 2));
}
template <> inline void block_integers<DType::mxfp4>(const std::byte* block, std::int8_t* q) noexcept {
  store_32(q, levels_of(quant::kE2m1Levels, block + 1));
}
template <> inline void block_integers<DType::iq4_xs>(const std::byte* block, std::int8_t* q) noexcept {
  for (std::size_t j = 0; j < 8; ++j) store_32(q + 32 * j, levels_of(quant::kIq4Levels, block + 8 + 16 * j));
}

#endif

/// Bytes less kLess.
template <int kLess> ZRT_ALWAYS_INLINE void less_bytes(I32 bytes, std::int8_t* q) noexcept {
  // Nothing is carried into the next byte.
  store_i32(q, ixor(iadd(bytes, splat_u8(128 - kLess)), splat_u8(128)));
}
/// The pairs of 64 bytes, [64 c] being those of quant::unpack_pairs.
ZRT_ALWAYS_INLINE void pairs_of(const std::byte* bytes, I32 (&pairs)[4]) noexcept {
  const I32 stored = load_i32(bytes);
  const I32 three = splat_u8(3);
  const I32 a = iand(stored, three), b = iand(shift_right<2>(stored), three);
  const I32 c = iand(shift_right<4>(stored), three), d = iand(shift_right<6>(stored), three);
  pairs[0] = first_halves(a, b);
  pairs[1] = first_halves(c, d);
  pairs[2] = second_halves(a, b);
  pairs[3] = second_halves(c, d);
}
template <> inline void block_integers<DType::tq2_0>(const std::byte* block, std::int8_t* q) noexcept {
  I32 pairs[4];
  pairs_of(block, pairs);
  for (std::size_t c = 0; c < 4; ++c) less_bytes<1>(pairs[c], q + 64 * c);
}
template <> inline void block_integers<DType::q3_k>(const std::byte* block, std::int8_t* q) noexcept {
  I32 pairs[4];
  pairs_of(block + 32, pairs);
  const I32 stored = load_i32(block);
  const I32 thirds = first_halves(stored, shift_right<1>(stored));
  const I32 place = splat_u8(4);
  less_bytes<4>(ior(pairs[0], iand(shift_left<2>(thirds), place)), q);
  less_bytes<4>(ior(pairs[1], iand(thirds, place)), q + 64);
  less_bytes<4>(ior(pairs[2], iand(shift_right<2>(thirds), place)), q + 128);
  less_bytes<4>(ior(pairs[3], iand(shift_right<4>(thirds), place)), q + 192);
}

/// Writes the integers of sixteen rows' blocks as RunFunctions::unpack says.
template <DType kType>
void sixteen_integers(const std::byte* const* rows, std::size_t at, std::int8_t (*blocks)[34]) noexcept {
  for (std::size_t r = 0; r < 16; ++r) block_integers<kType>(rows[r] + at, blocks[r] + 2);
}

/// Sixteen rows in blocks of 32.
template <bool kOffset> struct UnpackedRows {
  static constexpr bool kHasOffset = kOffset;
  static constexpr std::int32_t kExcess = Q8Rows::kExcess;

  RunFunctions type;

  [[nodiscard]] std::size_t bytes() const noexcept { return type.bytes; }
  [[nodiscard]] I32 sums(const std::byte* const* rows, std::size_t at, const std::int8_t* x) const noexcept {
    return Q8Rows::sums(Unpacked(type, rows, at).rows, 0, x);
  }
  void panel(const std::byte* const* rows, std::size_t at, std::byte* out) const noexcept {
    Q8Rows::panel(Unpacked(type, rows, at).rows, 0, out);
  }
  [[nodiscard]] F32 scales(const std::byte* const* rows, std::size_t at) const noexcept {
    if (type.scale == nullptr) return load_f16_of_rows(rows, at);
    float values[16];
    for (std::size_t r = 0; r < 16; ++r) values[r] = type.scale(rows[r] + at, 0);
    return load(values);
  }
  [[nodiscard]] static F32 offsets(const std::byte* const* rows, std::size_t at) noexcept {
    return load_f16_of_rows(rows, at + 2);
  }

 private:
  struct Unpacked {
    Unpacked(const RunFunctions& type, const std::byte* const* packed, std::size_t at) noexcept {
      type.unpack(packed, at, blocks);
      for (std::size_t r = 0; r < 16; ++r) rows[r] = reinterpret_cast<const std::byte*>(blocks[r]);
    }
    std::int8_t blocks[16][34];
    const std::byte* rows[16];
  };
};

/// A block of 256 whose parts have integer factors.
struct UnpackedBlock : KScaleBlock {
  void (*read)(const std::byte* block, KBlock& to) noexcept;
  std::uint32_t block_bytes;

  constexpr UnpackedBlock(void (*reads)(const std::byte*, KBlock&) noexcept, std::uint32_t of) noexcept
      : read(reads), block_bytes(of) {}

  [[nodiscard]] std::size_t bytes() const noexcept { return block_bytes; }
  void unpack(const std::byte* block, KBlock& to) const noexcept { read(block, to); }

  /// The function that unpacks a type's block.
  template <DType kType> static void read_as(const std::byte* block, KBlock& to) noexcept {
    using L = quant::Layout<kType>;
    block_integers<kType>(block, to.q);
    const quant::Factors f = L::factors_of(block);
    std::int8_t runs[16];
    for (std::size_t j = 0; j < 16; ++j) runs[j] = f.scale[16 * j / L::kPart];
    put_scales(load_i8(runs), to);
    to.d = L::scale(block, 0);
  }
};

/// Weight rows times activations as they are, in the order dot16, of a type that `dequantise` reads.
inline void dot16_dequantised(void (*dequantise)(const std::byte*, std::uint64_t, float*) noexcept, const HostWeight& w,
                              std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                              std::uint64_t stride) noexcept {
  constexpr std::uint32_t kRows = 16;
  const DTypeInfo& type = info(w.dtype);
  for (std::uint32_t t = 0; t < x.rows; t += kRows) {
    const std::uint32_t count = x.rows - t < kRows ? x.rows - t : kRows;
    for (std::uint32_t n = first; n < last; ++n) {
      alignas(64) float lanes[kRows][16]{};
      const std::byte* block = w.row(n);
      for (std::uint32_t k = 0; k < x.cols; k += type.block_elems, block += type.block_bytes) {
        float weights[256];
        dequantise(block, type.block_elems, weights);
        for (std::uint32_t r = 0; r < count; ++r) {
          const float* activations = x.x + std::uint64_t{t + r} * x.cols + k;
          F32 sum = load(lanes[r]);
          for (std::size_t i = 0; i < type.block_elems; i += 16)
            sum = fma(load(weights + i), load(activations + i), sum);
          store(lanes[r], sum);
        }
      }
      for (std::uint32_t r = 0; r < count; ++r) y[(t + r) * stride + (n - first)] = reduce_tree(load(lanes[r]));
    }
  }
}

#endif
