// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/code_words.hpp: words of four codes of sixteen weight rows, as products read them.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_CODE_WORDS)
#define ZRT_BACKEND_CPU_KERNELS_CODE_WORDS

#include <zrt/backend/cpu/kernels/planes.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/code_words.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// Words of bytes, as panels have them.
struct ByteWords {
  const std::byte* at;
  [[nodiscard]] ZRT_ALWAYS_INLINE I8x64 operator()(std::size_t i) const noexcept { return load_i8x64(at + 64 * i); }
};

#if ZRT_VARIANT != 1
/// Word `i`, below 8, of a plane of kPlane bits, as bits kTo and up.
template <int kPlane, int kTo>
[[nodiscard]] ZRT_ALWAYS_INLINE I32 plane_word(const std::byte* plane, std::size_t i) noexcept {
  const int from = static_cast<int>(i) / kPlane * kPlane;
  I32 bytes = load_i32(plane + 64 * (i % kPlane));
  bytes = from > kTo ? shift_right(bytes, from - kTo) : shift_left(bytes, kTo - from);
  return iand(bytes, splat_u8(((1u << kPlane) - 1) << kTo));
}

/// The eight words of packed codes of kBits bits as unpack_codes writes them.
template <int kBits, bool kLevels> struct CodeWords {
  const std::byte* at;
  const std::int8_t* levels;  ///< with kByteBias added

  [[nodiscard]] ZRT_ALWAYS_INLINE I8x64 operator()(std::size_t i) const noexcept {
    if constexpr (kBits == 8) {
      return as_bytes(ixor(load_i32(at + 64 * i), splat_u8(static_cast<std::uint32_t>(kByteBias))));
    } else {
      // Where the bits of the planes of two and of one begin in a code.
      constexpr int kTwo = kBits & 4, kOne = kBits & 6;
      I32 word = splat_i32(0);
      if constexpr ((kBits & 4) != 0) word = plane_word<4, 0>(at, i);
      if constexpr ((kBits & 2) != 0) word = ior(word, plane_word<2, kTwo>(at + 64 * kTwo, i));
      if constexpr ((kBits & 1) != 0) word = ior(word, plane_word<1, kOne>(at + 64 * kOne, i));
      return as_bytes(kLevels ? look_up(levels, word) : word);
    }
  }
};
#endif

#endif
