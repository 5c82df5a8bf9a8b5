// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/k_blocks.hpp: weights in blocks of 256 with integer sub-scales.
//
// A block is unpacked once for sixteen activation rows: its integers as 256 bytes, its sub-scales as
// one factor per lane of four products, so that one multiplication applies them.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_K_BLOCKS)
#define ZRT_BACKEND_CPU_KERNELS_K_BLOCKS

#include <zrt/backend/cpu/kernels/planes.hpp>
#include <zrt/backend/cpu/weight_kernels.hpp>
#include <zrt/quant/types.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/k_blocks.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// One unpacked block. `factor[16 c + i]` is the sub-scale of bytes 64 c + 4 i .. + 3.
struct KBlock {
  alignas(64) std::int8_t q[256];
  alignas(64) std::int32_t factor[64];
  /// The sub-scales of the runs; with offsets, of the eight runs, then their offsets.
  alignas(64) std::int32_t runs[16];
  float d = 0.0f;
  float m = 0.0f;

  [[nodiscard]] const std::int32_t* offset() const noexcept { return runs + 8; }
};

[[nodiscard]] ZRT_ALWAYS_INLINE I32 low_nibbles(I32 bytes) noexcept { return iand(bytes, splat_u8(0x0f)); }
[[nodiscard]] ZRT_ALWAYS_INLINE I32 high_nibbles(I32 bytes) noexcept { return low_nibbles(shift_right<4>(bytes)); }

/// What quant::read_k_scales reads, four bytes at a time: eight scales, then eight offsets.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 read_runs(const std::byte* bytes) noexcept {
  const std::uint64_t a = quant::read_u32(bytes);
  const std::uint64_t b = quant::read_u32(bytes + 4);
  const std::uint64_t c = quant::read_u32(bytes + 8);
  const std::uint64_t scales = (c & 0x0f0f0f0fu) | (a >> 2 & 0x30303030u);
  const std::uint64_t offsets = (c >> 4 & 0x0f0f0f0fu) | (b >> 2 & 0x30303030u);
  return widen_u8((a & 0x3f3f3f3fu) | scales << 32, (b & 0x3f3f3f3fu) | offsets << 32);
}

/// Q4_K and Q5_K: eight runs of 32 with scale and offset. B supplies `integers(block, q)`.
template <class B, DType kType> struct KOffsetBlock {
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return quant::Layout<kType>::kBytes; }

  static void unpack(const std::byte* block, KBlock& to) noexcept {
    B::integers(block, to.q);
    const I32 runs = read_runs(block + 4);
    store_i32(to.runs, runs);
    store_i32(to.factor, spread<0, 8>(runs));
    store_i32(to.factor + 16, spread<2, 8>(runs));
    store_i32(to.factor + 32, spread<4, 8>(runs));
    store_i32(to.factor + 48, spread<6, 8>(runs));
    to.d = quant::read_f16(block);
    to.m = quant::read_f16(block + 2);
  }
  /// Elements k..k+15 as f32, k a multiple of 16.
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 widen16(const KBlock& b, std::size_t k) noexcept {
    const F32 low = splat(b.m * static_cast<float>(b.offset()[k / 32]));
    return fma(splat(b.d * static_cast<float>(b.factor[k / 4])), to_f32(load_i8(b.q + k)), -low);
  }
};
struct Q4KBlock : KOffsetBlock<Q4KBlock, DType::q4_k> {
  ZRT_ALWAYS_INLINE static void integers(const std::byte* block, std::int8_t* q) noexcept {
    for (std::size_t c = 0; c < 2; ++c) {
      const I32 bytes = load_i32(block + 16 + 64 * c);
      const I32 low = low_nibbles(bytes);
      const I32 high = high_nibbles(bytes);
      store_i32(q + 128 * c, first_halves(low, high));
      store_i32(q + 128 * c + 64, second_halves(low, high));
    }
  }
};
struct Q5KBlock : KOffsetBlock<Q5KBlock, DType::q5_k> {
  ZRT_ALWAYS_INLINE static void integers(const std::byte* block, std::int8_t* q) noexcept {
    // Bit 2 j of a byte is the fifth of 64 j + l in the first half and of 64 j + 32 + l in the second.
    const I32 stored = load_i32(block + 16);
    const I32 fifths = first_halves(stored, shift_right<1>(stored));
    const I32 place = splat_u8(0x10);
    const I32 early = load_i32(block + 48);
    const I32 late = load_i32(block + 112);
    const I32 early_low = low_nibbles(early), early_high = high_nibbles(early);
    const I32 late_low = low_nibbles(late), late_high = high_nibbles(late);
    store_i32(q, ior(first_halves(early_low, early_high), iand(shift_left<4>(fifths), place)));
    store_i32(q + 64, ior(second_halves(early_low, early_high), iand(shift_left<2>(fifths), place)));
    store_i32(q + 128, ior(first_halves(late_low, late_high), iand(fifths, place)));
    store_i32(q + 192, ior(second_halves(late_low, late_high), iand(shift_right<2>(fifths), place)));
  }
};

/// A type of sixteen runs of 16 without offsets.
struct KScaleBlock {
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 widen16(const KBlock& b, std::size_t k) noexcept {
    return splat(b.d * static_cast<float>(b.factor[k / 4])) * to_f32(load_i8(b.q + k));
  }

 protected:
  /// Takes the factors of sixteen runs.
  ZRT_ALWAYS_INLINE static void put_scales(I32 scales, KBlock& to) noexcept {
    store_i32(to.runs, scales);
    store_i32(to.factor, spread<0, 4>(scales));
    store_i32(to.factor + 16, spread<4, 4>(scales));
    store_i32(to.factor + 32, spread<8, 4>(scales));
    store_i32(to.factor + 48, spread<12, 4>(scales));
  }
};

/// Q6_K: sixteen runs of 16 with a signed scale.
struct Q6KBlock : KScaleBlock {
  [[nodiscard]] static constexpr std::size_t bytes() noexcept { return quant::Layout<DType::q6_k>::kBytes; }

  static void unpack(const std::byte* block, KBlock& to) noexcept {
    const I32 stored = load_i32(block + 128);
    const I32 next = shift_right<2>(stored);
    integers(block, first_halves(stored, next), to.q);
    integers(block + 64, second_halves(stored, next), to.q + 128);
    put_scales(load_i8(quant::signed_bytes(block + 192)), to);
    to.d = quant::read_f16(block + 208);
  }

 private:
  /// 128 values: of each byte of `tops`, bits 0..1 belong to the low nibble and bits 4..5 to the high one.
  ZRT_ALWAYS_INLINE static void integers(const std::byte* nibbles, I32 tops, std::int8_t* q) noexcept {
    const I32 bytes = load_i32(nibbles);
    const I32 place = splat_u8(0x30);
    store_i32(q, minus_32(ior(low_nibbles(bytes), iand(shift_left<4>(tops), place))));
    store_i32(q + 64, minus_32(ior(high_nibbles(bytes), iand(tops, place))));
  }
  /// Bytes within 0..63 less 32; 96 - 128, so that nothing is carried into the next byte.
  [[nodiscard]] ZRT_ALWAYS_INLINE static I32 minus_32(I32 bytes) noexcept {
    return ixor(iadd(bytes, splat_u8(96)), splat_u8(128));
  }
};

/// Writes `cols` dequantised elements of a row, each times `scale`.
template <class K> void widen_k_row(K type, const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
  KBlock block;
  for (std::uint32_t k = 0; k < cols; k += 256, row += type.bytes()) {
    type.unpack(row, block);
    for (std::size_t i = 0; i < 256; i += 16) store(y + k + i, type.widen16(block, i) * splat(scale));
  }
}

/// Weight rows times activations as they are, in the order dot16.
template <class K>
void dot16_k_rows(K type, const HostWeight& w, std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                  std::uint64_t stride) noexcept {
  constexpr std::uint32_t kRows = 16;
  KBlock block;
  for (std::uint32_t t = 0; t < x.rows; t += kRows) {
    const std::uint32_t count = x.rows - t < kRows ? x.rows - t : kRows;
    for (std::uint32_t n = first; n < last; ++n) {
      alignas(64) float lanes[kRows][16]{};
      for (std::uint32_t k = 0; k < x.cols; k += 256) {
        type.unpack(w.row(n) + k / 256 * type.bytes(), block);
        for (std::size_t i = 0; i < 256; i += 16) {
          const F32 weight = type.widen16(block, i);
          for (std::uint32_t r = 0; r < count; ++r)
            store(lanes[r], fma(weight, load(x.x + std::uint64_t{t + r} * x.cols + k + i), load(lanes[r])));
        }
      }
      for (std::uint32_t r = 0; r < count; ++r) y[(t + r) * stride + (n - first)] = reduce_tree(load(lanes[r]));
    }
  }
}

#endif
