// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/simd/lanes_portable.inc.hpp: a textual fragment, the lanes of simd/lanes_portable.hpp.
//
// Sixteen f32 lanes in vectors of any processor, and the meaning of every lane operation.

inline constexpr Isa kIsa = ZRT_VARIANT == 1 ? Isa::v1 : Isa::dotprod;
/// Vectors of sixteen lanes that the registers hold.
#if defined(__aarch64__)
inline constexpr std::size_t kVectors = 8;
#else
inline constexpr std::size_t kVectors = 4;
#endif

// GCC and Clang map these to a register of every processor, and to what they have where there is none.
using F32x4 = float __attribute__((vector_size(16)));
using U32x4 = std::uint32_t __attribute__((vector_size(16)));
using I32x4 = std::int32_t __attribute__((vector_size(16)));

/// Sixteen f32.
struct F32x16 {
  F32x4 part[4];
};
/// Sixteen int32, which wrap.
struct I32x16 {
  U32x4 part[4];
};
/// Sixteen truth values: all bits of a lane, or none.
struct Mask16 {
  U32x4 part[4];
};
/// Sixteen f64, which are only multiplied and added.
struct F64x16 {
  double lane[16];
};
using F32 = F32x16;
using F64 = F64x16;
using I32 = I32x16;
using Mask = Mask16;

/// The value of `f` for each of the four parts.
template <class R, class F> [[nodiscard]] ZRT_ALWAYS_INLINE R from_parts(F f) noexcept {
  return {{f(0), f(1), f(2), f(3)}};
}
/// Sixteen values, by lane. A function of the library would be left as it is in a host without optimisation.
template <class R> struct Lanes {
  std::conditional_t<std::is_same_v<R, F32>, float, std::int32_t> lane[16];
};
template <class R> [[nodiscard]] ZRT_ALWAYS_INLINE Lanes<R> to_lanes(R a) noexcept {
  return __builtin_bit_cast(Lanes<R>, a);
}
/// The value of `f` for each lane, for what has no instruction.
template <class R, class F> [[nodiscard]] ZRT_ALWAYS_INLINE R from_lanes(F f) noexcept {
  Lanes<R> r;
  for (std::size_t i = 0; i < 16; ++i) r.lane[i] = f(i);
  return __builtin_bit_cast(R, r);
}

/// Keeps the compiler from fusing the operation that made `x` with one that uses it.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 sealed(F32 x) noexcept {
  for (F32x4& part : x.part) {
#if defined(__x86_64__)
    __asm__("" : "+x"(part));
#elif defined(__aarch64__)
    __asm__("" : "+w"(part));
#else
    __asm__("" : "+m"(part));
#endif
  }
  return x;
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 splat(float x) noexcept {
  const F32x4 part{x, x, x, x};
  return {{part, part, part, part}};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 splat_i32(std::int32_t x) noexcept {
  const auto bits = static_cast<std::uint32_t>(x);
  const U32x4 part{bits, bits, bits, bits};
  return {{part, part, part, part}};
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 as_i32(F32 x) noexcept { return __builtin_bit_cast(I32, x); }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 as_f32(I32 x) noexcept { return __builtin_bit_cast(F32, x); }

// Memory need not be aligned. The `first` forms touch `count` elements, 0..16, and fill with zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load(const float* p) noexcept {
  F32 r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_first(const float* p, std::size_t count) noexcept {
  Lanes<F32> r{};
  for (std::size_t i = 0; i < count; ++i) r.lane[i] = p[i];
  return __builtin_bit_cast(F32, r);
}
ZRT_ALWAYS_INLINE void store(float* p, F32 a) noexcept { std::memcpy(p, &a, sizeof a); }
ZRT_ALWAYS_INLINE void store_first(float* p, F32 a, std::size_t count) noexcept {
  const Lanes<F32> lanes = to_lanes(a);
  for (std::size_t i = 0; i < count; ++i) p[i] = lanes.lane[i];
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 load_i32(const void* p) noexcept {
  I32 r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
ZRT_ALWAYS_INLINE void store_i32(void* p, I32 a) noexcept { std::memcpy(p, &a, sizeof a); }
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator+(F32 a, F32 b) noexcept {
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] + b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a, F32 b) noexcept {
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] - b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator*(F32 a, F32 b) noexcept {
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] * b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator/(F32 a, F32 b) noexcept {
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] / b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE F32 operator-(F32 a) noexcept {
  return from_parts<F32>([&](std::size_t i) ZRT_UNROLLED { return -a.part[i]; });
}

// Comparisons with NaN are false.
[[nodiscard]] ZRT_ALWAYS_INLINE Mask less(F32 a, F32 b) noexcept {
  return from_parts<Mask>([&](std::size_t i) ZRT_UNROLLED { return __builtin_bit_cast(U32x4, a.part[i] < b.part[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask less_equal(F32 a, F32 b) noexcept {
  return from_parts<Mask>([&](std::size_t i)
                              ZRT_UNROLLED { return __builtin_bit_cast(U32x4, a.part[i] <= b.part[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask equal(F32 a, F32 b) noexcept {
  return from_parts<Mask>([&](std::size_t i)
                              ZRT_UNROLLED { return __builtin_bit_cast(U32x4, a.part[i] == b.part[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask is_nan(F32 a) noexcept {
  return from_parts<Mask>([&](std::size_t i)
                              ZRT_UNROLLED { return __builtin_bit_cast(U32x4, a.part[i] != a.part[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask both(Mask a, Mask b) noexcept {
  return from_parts<Mask>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] & b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask either(Mask a, Mask b) noexcept {
  return from_parts<Mask>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] | b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask invert(Mask a) noexcept {
  return from_parts<Mask>([&](std::size_t i) ZRT_UNROLLED { return ~a.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE bool any(Mask a) noexcept {
  const U32x4 all = (a.part[0] | a.part[1]) | (a.part[2] | a.part[3]);
  return (all[0] | all[1] | all[2] | all[3]) != 0;
}
/// Bit i says lane i.
[[nodiscard]] ZRT_ALWAYS_INLINE std::uint32_t lane_bits(Mask a) noexcept {
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < 16; ++i) bits |= (a.part[i / 4][i % 4] & 1u) << i;
  return bits;
}
/// The mask of lanes 0..count-1.
[[nodiscard]] ZRT_ALWAYS_INLINE Mask first_lanes(std::size_t count) noexcept {
  return __builtin_bit_cast(Mask, from_lanes<I32>([&](std::size_t i) ZRT_UNROLLED { return i < count ? -1 : 0; }));
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iselect(Mask m, I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i)
                             ZRT_UNROLLED { return (m.part[i] & a.part[i]) | (~m.part[i] & b.part[i]); });
}
/// `a` where the mask is true, `b` elsewhere.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 select(Mask m, F32 a, F32 b) noexcept {
  return as_f32(iselect(m, as_i32(a), as_i32(b)));
}

[[nodiscard]] ZRT_ALWAYS_INLINE I32 iadd(I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] + b.part[i]; });
}
/// The low 32 bits of each product.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 imul(I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] * b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 isub(I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] - b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 iand(I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] & b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ior(I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] | b.part[i]; });
}
[[nodiscard]] ZRT_ALWAYS_INLINE I32 ixor(I32 a, I32 b) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] ^ b.part[i]; });
}
// By a number of bits below 32, which takes another instruction unless it is a constant once loops are unrolled.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a, int bits) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED { return a.part[i] << bits; });
}
/// Shifts right and fills with the sign.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a, int bits) noexcept {
  return from_parts<I32>([&](std::size_t i) ZRT_UNROLLED {
    return __builtin_bit_cast(U32x4, __builtin_bit_cast(I32x4, a.part[i]) >> bits);
  });
}
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_left(I32 a) noexcept { return shift_left(a, kBits); }
template <int kBits> [[nodiscard]] ZRT_ALWAYS_INLINE I32 shift_right(I32 a) noexcept { return shift_right(a, kBits); }
[[nodiscard]] ZRT_ALWAYS_INLINE Mask iequal(I32 a, I32 b) noexcept {
  return from_parts<Mask>([&](std::size_t i)
                              ZRT_UNROLLED { return __builtin_bit_cast(U32x4, a.part[i] == b.part[i]); });
}
[[nodiscard]] ZRT_ALWAYS_INLINE Mask igreater(I32 a, I32 b) noexcept {
  return from_parts<Mask>([&](std::size_t i) ZRT_UNROLLED {
    return __builtin_bit_cast(U32x4, __builtin_bit_cast(I32x4, a.part[i]) > __builtin_bit_cast(I32x4, b.part[i]));
  });
}
/// The nearest f32, ties to even.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 to_f32(I32 x) noexcept {
  return from_parts<F32>(
      [&](std::size_t i) ZRT_UNROLLED { return __builtin_convertvector(__builtin_bit_cast(I32x4, x.part[i]), F32x4); });
}

[[nodiscard]] ZRT_ALWAYS_INLINE F32 abs(F32 a) noexcept { return as_f32(iand(as_i32(a), splat_i32(INT32_MAX))); }
/// a < b ? a : b, so that b is the answer when either is NaN and when both are zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 min(F32 a, F32 b) noexcept { return select(less(a, b), a, b); }
/// a > b ? a : b, so that b is the answer when either is NaN and when both are zeros.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 max(F32 a, F32 b) noexcept { return select(less(b, a), a, b); }
/// The magnitude of `a` with the sign bit of `b`.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 copysign(F32 a, F32 b) noexcept {
  return as_f32(ior(as_i32(abs(a)), iand(as_i32(b), splat_i32(INT32_MIN))));
}
/// Applies a scalar function to each lane.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 each_lane(float (*function)(float) noexcept, F32 a) noexcept {
  const Lanes<F32> x = to_lanes(a);
  return from_lanes<F32>([&](std::size_t i) ZRT_UNROLLED { return function(x.lane[i]); });
}

#if defined(__aarch64__)
#include <zrt/backend/cpu/simd/lanes_neon.inc.hpp>
#else
#include <zrt/backend/cpu/simd/lanes_plain.inc.hpp>
#endif

/// round_even(x) as an integer; INT32_MIN for NaN and for what does not fit.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 to_i32(F32 x) noexcept {
  const F32 rounded = round_even(x);
  const Mask fits = both(less_equal(splat(-0x1p31f), rounded), less(rounded, splat(0x1p31f)));
  const F32 some = select(fits, rounded, splat(0.0f));
  const I32 whole = from_parts<I32>([&](std::size_t i) ZRT_UNROLLED {
    return __builtin_bit_cast(U32x4, __builtin_convertvector(some.part[i], I32x4));
  });
  return iselect(fits, whole, splat_i32(INT32_MIN));
}
/// x * 2^n rounded once, for |n| <= 160 and x zero, not finite, or in 2^-40 <= |x| <= 2^40.
///
/// The first of the two factors leaves a normal number, so only the second product rounds.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 scale_pow2(F32 x, I32 n) noexcept {
  const I32 first = shift_right<1>(n);
  const I32 second = isub(n, first);
  const F32 scaled = x * as_f32(shift_left<23>(iadd(first, splat_i32(127))));
  return sealed(scaled * as_f32(shift_left<23>(iadd(second, splat_i32(127)))));
}

/// Widens 16 bf16 exactly.
[[nodiscard]] ZRT_ALWAYS_INLINE F32 load_bf16(const void* p) noexcept {
  std::uint16_t h[16];
  std::memcpy(h, p, sizeof h);
  return as_f32(shift_left<16>(from_lanes<I32>([&](std::size_t i) ZRT_UNROLLED { return h[i]; })));
}
/// Rounds to 16 bf16, nearest even.
[[gnu::noinline]] inline void store_bf16(void* p, F32 a) noexcept {
  const Lanes<F32> lanes = to_lanes(a);
  BFloat16 h[16];
  for (std::size_t i = 0; i < 16; ++i) h[i] = to_bf16(lanes.lane[i]);
  std::memcpy(p, h, sizeof h);
}

/// Sums the lanes by the tree of the order `dot16`: lane j += lane j+8, then j+4, j+2, j+1.
[[nodiscard]] ZRT_ALWAYS_INLINE float reduce_tree(F32 a) noexcept {
  a = sealed(a);
  const F32x4 four = (a.part[0] + a.part[2]) + (a.part[1] + a.part[3]);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

[[nodiscard]] ZRT_ALWAYS_INLINE F64 load(const double* p) noexcept {
  F64 r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
[[nodiscard]] ZRT_ALWAYS_INLINE F64 fma(F64 a, F64 b, F64 c) noexcept {
  for (std::size_t i = 0; i < 16; ++i) c.lane[i] = __builtin_fma(a.lane[i], b.lane[i], c.lane[i]);
  return c;
}
/// The sum of the lanes: lane j += lane j + 8, then j + 4, j + 2, j + 1.
[[nodiscard]] ZRT_ALWAYS_INLINE double reduce_tree(F64 a) noexcept {
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) a.lane[i] = a.lane[i] + a.lane[i + half];
  return a.lane[0];
}

/// The sum of the lanes.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_add(I32 a) noexcept {
  const U32x4 four = (a.part[0] + a.part[1]) + (a.part[2] + a.part[3]);
  return static_cast<std::int32_t>((four[0] + four[1]) + (four[2] + four[3]));
}
/// The largest lane.
[[nodiscard]] ZRT_ALWAYS_INLINE std::int32_t reduce_max(I32 a) noexcept {
  const Lanes<I32> lanes = to_lanes(a);
  std::int32_t largest = lanes.lane[0];
  for (const std::int32_t lane : lanes.lane) largest = lane > largest ? lane : largest;
  return largest;
}

/// Adds the products of the 16-bit halves of a and b, both of a lane.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot2(I32 acc, I32 a, I32 b) noexcept {
  const auto low = [](I32 x) ZRT_UNROLLED { return shift_right<16>(shift_left<16>(x)); };
  return iadd(acc, iadd(imul(low(a), low(b)), imul(shift_right<16>(a), shift_right<16>(b))));
}
/// The same for `a` within 0..127, where it takes fewer instructions; `b` may be any int8.
[[nodiscard]] ZRT_ALWAYS_INLINE I32 dot4_unsigned(I32 acc, I8x64 a, I8x64 b) noexcept { return dot4(acc, a, b); }
