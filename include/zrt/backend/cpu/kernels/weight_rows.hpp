// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/weight_rows.hpp: sixteen elements of a weight row as f32, for types without sub-blocks.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_WEIGHT_ROWS)
#define ZRT_BACKEND_CPU_KERNELS_WEIGHT_ROWS

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/quant/types.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/weight_rows.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

// `load16(row, k)` widens elements k..k+15 exactly as the type's dequantise does, k being a multiple
// of 16; `load_rest(row, k, count)` fills with zeros. Rows of blocks have no rest.

struct F32Row {
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load16(const std::byte* row, std::uint64_t k) noexcept {
    return load(reinterpret_cast<const float*>(row) + k);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load_rest(const std::byte* row, std::uint64_t k,
                                                       std::size_t count) noexcept {
    return load_first(reinterpret_cast<const float*>(row) + k, count);
  }
};
struct F16Row {
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load16(const std::byte* row, std::uint64_t k) noexcept {
    return load_f16(row + 2 * k);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load_rest(const std::byte* row, std::uint64_t k,
                                                       std::size_t count) noexcept {
    std::uint16_t padded[16]{};
    std::memcpy(padded, row + 2 * k, 2 * count);
    return load_f16(padded);
  }
};
struct Bf16Row {
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load16(const std::byte* row, std::uint64_t k) noexcept {
    return load_bf16(row + 2 * k);
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load_rest(const std::byte* row, std::uint64_t k,
                                                       std::size_t count) noexcept {
    std::uint16_t padded[16]{};
    std::memcpy(padded, row + 2 * k, 2 * count);
    return load_bf16(padded);
  }
};
struct Q8Row {
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load16(const std::byte* row, std::uint64_t k) noexcept {
    const std::byte* block = row + k / 32 * 34;
    return to_f32(load_i8(quant::signed_bytes(block + 2 + k % 32))) * splat(quant::read_f16(block));
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load_rest(const std::byte*, std::uint64_t, std::size_t) noexcept {
    return splat(0.0f);
  }
};
struct Q4Row {
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load16(const std::byte* row, std::uint64_t k) noexcept {
    const std::byte* block = row + k / 32 * 18;
    const I32 bytes = load_i8(quant::signed_bytes(block + 2));
    const I32 half = iand(k % 32 == 0 ? bytes : shift_right<4>(bytes), splat_i32(15));
    return to_f32(isub(half, splat_i32(8))) * splat(quant::read_f16(block));
  }
  [[nodiscard]] ZRT_ALWAYS_INLINE static F32 load_rest(const std::byte*, std::uint64_t, std::size_t) noexcept {
    return splat(0.0f);
  }
};

template <class W> void widen_row(const std::byte* row, std::uint32_t cols, float scale, float* y) noexcept {
  std::uint32_t k = 0;
  for (; k + 16 <= cols; k += 16) store(y + k, W::load16(row, k) * splat(scale));
  if (k < cols) store_first(y + k, W::load_rest(row, k, cols - k) * splat(scale), cols - k);
}

#endif
