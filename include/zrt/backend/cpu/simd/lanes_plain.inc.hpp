// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_plain.inc.hpp: a textual fragment of simd/lanes_portable.inc.hpp.
//
// Lane operations without a vector instruction on every processor, lane by lane.

/// Sixty-four int8; byte i belongs to int32 lane i / 4.
struct I8x64 {
  std::int8_t lane[64];
};

/// Without an instruction, a product that is rounded once is a call for each lane: its own function keeps kernels small.
[[gnu::noinline]] inline void fma_by_calls(const F32& a, const F32& b, F32& c) noexcept {
  const Lanes<F32> x = to_lanes(a), y = to_lanes(b), z = to_lanes(c);
  c = from_lanes<F32>([&](std::size_t i) ZRT_UNROLLED { return __builtin_fmaf(x.lane[i], y.lane[i], z.lane[i]); });
}
/// a * b + c, rounded once.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 fma(F32 a, F32 b, F32 c) noexcept {
  fma_by_calls(a, b, c);
  return c;
}
/// The square root, rounded correctly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sqrt(F32 a) noexcept {
  const Lanes<F32> x = to_lanes(a);
  return from_lanes<F32>([&](std::size_t i) ZRT_UNROLLED { return math::sqrt(x.lane[i]); });
}
/// The nearest whole number, ties to even, with the sign of `x`; infinities stay, NaN stays NaN.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 round_even(F32 x) noexcept {
  const F32 magnitude = sealed(abs(x));
  // At 2^23 the last bit of an f32 is 1, so the sum rounds and the difference is exact.
  const F32 whole = splat(0x1p23f);
  return select(less(magnitude, whole), copysign(sealed(magnitude + whole) - whole, x), x);
}
/// Widens 16 int8 to int32.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i8(const std::int8_t* p) noexcept {
  return from_lanes<I32>([&](std::size_t i) ZRT_UNROLLED { return p[i]; });
}
/// Widens 16 f16, given as integers, exactly.
[[nodiscard]] inline F32 widen_f16(I32 half) noexcept {
  const I32 exponent = iand(shift_right<10>(half), splat_i32(0x1f));
  const I32 mantissa = iand(half, splat_i32(0x3ff));
  const I32 digits = shift_left<13>(mantissa);
  const I32 zero = splat_i32(0);
  const I32 quiet = iselect(iequal(mantissa, zero), zero, splat_i32(0x400000));
  const I32 special = ior(splat_i32(0x7f800000), ior(digits, quiet));
  const I32 normal = ior(shift_left<23>(iadd(exponent, splat_i32(112))), digits);
  // A subnormal half is mantissa * 2^-24, exact in f32.
  const I32 small = as_i32(to_f32(mantissa) * splat(0x1p-24f));
  const I32 magnitude =
      iselect(iequal(exponent, zero), small, iselect(iequal(exponent, splat_i32(0x1f)), special, normal));
  return as_f32(ior(magnitude, shift_left<16>(iand(half, splat_i32(0x8000)))));
}
/// Widens 16 f16 exactly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_f16(const void* p) noexcept {
  std::uint16_t h[16];
  std::memcpy(h, p, sizeof h);
  return widen_f16(from_lanes<I32>([&](std::size_t i) ZRT_UNROLLED { return h[i]; }));
}
/// Rounds to 16 f16, nearest even.
[[gnu::noinline]] inline void store_f16(void* p, F32 a) noexcept {
  const Lanes<F32> lanes = to_lanes(a);
  Half h[16];
  for (std::size_t i = 0; i < 16; ++i) h[i] = to_f16(lanes.lane[i]);
  std::memcpy(p, h, sizeof h);
}
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 load_i8x64(const void* p) noexcept {
  I8x64 r;
  std::memcpy(r.lane, p, sizeof r.lane);
  return r;
}
/// Repeats four bytes sixteen times.
[[nodiscard]] ZRT_ALWAYS_INLINE I8x64 splat_i8x4(const void* p) noexcept {
  I8x64 r;
  for (std::size_t i = 0; i < 16; ++i) std::memcpy(r.lane + 4 * i, p, 4);
  return r;
}
/// acc_j + sum of a * b over bytes 4j..4j+3, exactly. `b` must be within -127..127.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4(I32 acc, I8x64 a, I8x64 b) noexcept {
  return iadd(acc, from_lanes<I32>([&](std::size_t i) ZRT_UNROLLED {
                std::int32_t sum = 0;
                for (std::size_t j = 4 * i; j < 4 * i + 4; ++j) sum += a.lane[j] * b.lane[j];
                return sum;
              }));
}
