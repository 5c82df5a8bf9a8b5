// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/planes.hpp: the codes of packed weights as bytes that products multiply.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_PLANES)
#define ZRT_BACKEND_CPU_KERNELS_PLANES

#include <zrt/backend/cpu/kernels/shuffles.hpp>
#include <zrt/backend/cpu/packed_weight.hpp>

#include <cstddef>
#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/planes.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// What is added to signed bytes, so that an instruction for unsigned ones multiplies them.
inline constexpr std::int32_t kByteBias = kIsa == Isa::v4 ? 128 : 0;

// Sixteen int32 lanes also serve as 64 bytes, which a shift mixes: what comes from a neighbour is masked away.

/// A byte in each byte of the lanes.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 splat_u8(std::uint32_t byte) noexcept {
  return splat_i32(static_cast<std::int32_t>(byte * 0x01010101u));
}

// Plain C++ calls what takes its vectors many instructions.
#if ZRT_VARIANT == 1
#define ZRT_PLANE_FUNCTION [[gnu::noinline]] inline
#else
#define ZRT_PLANE_FUNCTION ZRT_ALWAYS_INLINE
#endif

/// Adds a plane of `width` bits to words of codes, as bits `to` and up.
ZRT_PLANE_FUNCTION void add_plane(const std::byte* plane, int width, int to, I32 (&words)[8]) noexcept {
  const auto step = static_cast<std::size_t>(width);
  const I32 mask = splat_u8((1u << width) - 1);
  ZRT_UNROLL (i, step) {
    I32 bits = load_i32(plane + 64 * i);
    ZRT_UNROLL (k, 8 / step) {
      words[i + k * step] = ior(words[i + k * step], shift_left(iand(bits, mask), to));
      bits = shift_right(bits, width);
    }
  }
}
#undef ZRT_PLANE_FUNCTION

/// Writes the codes of 32 elements as bytes, [8 words][16 rows][4]: what `levels` says, or without them the codes
/// themselves. Signed bytes get kByteBias added.
template <int kBits>
ZRT_ALWAYS_INLINE void unpack_codes(const std::byte* codes, const std::int8_t* levels, std::byte* out) noexcept {
  if constexpr (kBits == 8) {
    const I32 bias = splat_u8(static_cast<std::uint32_t>(kByteBias));
    ZRT_UNROLL (c, 8) store_i32(out + 64 * c, ixor(load_i32(codes + 64 * c), bias));
  } else {
    I32 words[8];
    ZRT_UNROLL (c, 8) words[c] = splat_i32(0);
    if constexpr ((kBits & 4) != 0) add_plane(codes, 4, 0, words);
    if constexpr ((kBits & 2) != 0) add_plane(codes + 64 * (kBits & 4), 2, kBits & 4, words);
    if constexpr ((kBits & 1) != 0) add_plane(codes + 64 * (kBits & 6), 1, kBits & 6, words);
    if (levels != nullptr)
      ZRT_UNROLL (c, 8) words[c] = look_up(levels, words[c]);
    ZRT_UNROLL (c, 8) store_i32(out + 64 * c, words[c]);
  }
}

/// unpack_codes of `count` times 32 elements, whose codes are `stride` bytes apart.
using UnpackCodes = void (*)(const std::byte* codes, std::size_t stride, std::size_t count, const std::int8_t* levels,
                             std::byte* out) noexcept;
template <int kBits>
void unpack_code_blocks(const std::byte* codes, std::size_t stride, std::size_t count, const std::int8_t* levels,
                        std::byte* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) unpack_codes<kBits>(codes + i * stride, levels, out + 512 * i);
}
/// unpack_code_blocks of codes of kBits bits; null where none of kForms has them.
template <PackedForms kForms, int kBits> [[nodiscard]] consteval UnpackCodes unpack_of() noexcept {
  if constexpr (kForms.has_width(kBits))
    return &unpack_code_blocks<kBits>;
  else
    return nullptr;
}
template <PackedForms kForms>
inline constexpr UnpackCodes kUnpackCodes[9]{
    nullptr,
    unpack_of<kForms, 1>(),
    unpack_of<kForms, 2>(),
    unpack_of<kForms, 3>(),
    unpack_of<kForms, 4>(),
    unpack_of<kForms, 5>(),
    unpack_of<kForms, 6>(),
    nullptr,  // no type has codes of seven bits
    unpack_of<kForms, 8>(),
};

/// Turns the codes of one form into bytes: unpack_codes with the levels of the form.
class CodeReader {
 public:
  CodeReader(const PackedForm& form, UnpackCodes unpack) noexcept : unpack_(unpack), none_(form.levels == nullptr) {
    for (std::size_t i = 0; i < 16 && !none_; ++i)
      levels_[i] = static_cast<std::int8_t>(static_cast<std::uint8_t>(form.levels[i]) + kByteBias);
  }
  ZRT_ALWAYS_INLINE void operator()(const std::byte* codes, std::size_t stride, std::size_t count,
                                    std::byte* out) const noexcept {
    unpack_(codes, stride, count, none_ ? nullptr : levels_, out);
  }
  /// [16] what codes stand for, with kByteBias added.
  [[nodiscard]] const std::int8_t* levels() const noexcept { return levels_; }

 private:
  alignas(16) std::int8_t levels_[16]{};  ///< with kByteBias added
  UnpackCodes unpack_;
  bool none_;
};
/// The reader of a form, which is one of kForms.
template <PackedForms kForms> [[nodiscard]] CodeReader code_reader(const PackedForm& form) noexcept {
  return {form, kUnpackCodes<kForms>[form.bits]};
}

/// What is known of the bytes of a panel, which meet activations of -127..127.
enum class Codes : std::uint8_t {
  any,      ///< -128..127, or 0..255 where kByteBias is added
  of_six,   ///< 0..63
  of_five,  ///< 0..31
};
/// What products make use of: AVX2 adds small ones in 16 bits.
[[nodiscard]] constexpr Codes codes_of(int bits, bool levels, bool parts) noexcept {
  if (kIsa != Isa::v3 || levels || bits > 6) return Codes::any;
  return bits < 6 ? Codes::of_five : parts ? Codes::of_six : Codes::any;
}
/// What a byte of a panel stands for, less the byte.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t lowest_of(const PackedForm& form) noexcept {
  return form.bits == 8 || form.levels != nullptr ? -kByteBias : form.lowest;
}

/// Sixteen scales as they are stored.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_scales(DType type, const std::byte* scales) noexcept {
  return type == DType::f32   ? load(reinterpret_cast<const float*>(scales))
         : type == DType::f16 ? load_f16(scales)
                              : load_bf16(scales);
}

#endif
