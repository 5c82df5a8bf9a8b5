// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_neon.inc.hpp: a textual fragment of simd/lanes_portable.inc.hpp: what lanes_plain.inc.hpp has, by NEON.

struct I8x64 {
  int8x16_t part[4];
};

/// A part as intrinsics take it.
[[nodiscard]] ZRT_ALWAYS_INLINE float32x4_t neon(F32x4 part) noexcept { return __builtin_bit_cast(float32x4_t, part); }
[[nodiscard]] ZRT_ALWAYS_INLINE int32x4_t neon(U32x4 part) noexcept { return __builtin_bit_cast(int32x4_t, part); }

[[nodiscard]] ZRT_ALWAYS_INLINE F32 fma(F32 a, F32 b, F32 c) noexcept {
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED {
    return __builtin_bit_cast(F32x4, vfmaq_f32(neon(c.part[i]), neon(a.part[i]), neon(b.part[i])));
  });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sqrt(F32 a) noexcept {
  return from_parts<F32>([&](std::size_t i)
                             ZRT_UNROLLED { return __builtin_bit_cast(F32x4, vsqrtq_f32(neon(a.part[i]))); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 round_even(F32 x) noexcept {
  return from_parts<F32>([&](std::size_t i)
                             ZRT_UNROLLED { return __builtin_bit_cast(F32x4, vrndnq_f32(neon(x.part[i]))); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i8(const std::int8_t* p) noexcept {
  const int8x16_t bytes = vld1q_s8(p);
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
  const auto part = [](int32x4_t x) ZRT_UNROLLED { return __builtin_bit_cast(U32x4, x); };
  return {{part(vmovl_s16(vget_low_s16(low))), part(vmovl_high_s16(low)), part(vmovl_s16(vget_low_s16(high))),
           part(vmovl_high_s16(high))}};
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_f16(const void* p) noexcept {
  std::uint16_t halves[16];
  std::memcpy(halves, p, sizeof halves);
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED {
    return __builtin_bit_cast(F32x4, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves + 4 * i))));
  });
}
ZRT_ALWAYS_INLINE void store_f16(void* p, F32 a) noexcept {
  std::uint16_t halves[16];
  ZRT_UNROLL (i, 4) vst1_u16(halves + 4 * i, vreinterpret_u16_f16(vcvt_f16_f32(neon(a.part[i]))));
  std::memcpy(p, halves, sizeof halves);
}

[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 as_bytes(I32 x) noexcept { return __builtin_bit_cast(I8x64, x); }
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 load_i8x64(const void* p) noexcept { return as_bytes(load_i32(p)); }
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 splat_i8x4(const void* p) noexcept {
  std::int32_t four = 0;
  std::memcpy(&four, p, sizeof four);
  const int8x16_t part = vreinterpretq_s8_s32(vdupq_n_s32(four));
  return {{part, part, part, part}};
}
#if ZRT_VARIANT == 1
/// Two products of bytes fit in 16 bits.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4(I32 acc, I8x64 a, I8x64 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED {
    const int16x8_t low = vmull_s8(vget_low_s8(a.part[i]), vget_low_s8(b.part[i]));
    const int16x8_t pairs = vpaddq_s16(low, vmull_high_s8(a.part[i], b.part[i]));
    return __builtin_bit_cast(U32x4, vpadalq_s16(neon(acc.part[i]), pairs));
  });
}
#else
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4(I32 acc, I8x64 a, I8x64 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED {
    return __builtin_bit_cast(U32x4, vdotq_s32(neon(acc.part[i]), a.part[i], b.part[i]));
  });
}
#endif
