// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/element_helpers.hpp: how elements of every type are read, written and cast, in C.
#pragma once

#include <zrt/plan/c/helper.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {
namespace detail {

inline constexpr std::string_view kLoad = R"(static inline $2 zrt_load_$0(const void *p, uint64_t i) {
  $1 x;
  memcpy(&x, (const unsigned char *)p + i * sizeof x, sizeof x);
  return x;
}
)";
inline constexpr std::string_view kStore = R"(static inline void zrt_store_$0(void *p, uint64_t i, $2 v) {
  const $1 x = ($1)v;
  memcpy((unsigned char *)p + i * sizeof x, &x, sizeof x);
}
)";
inline constexpr std::string_view kWrap = "static inline $2 zrt_wrap_$0($2 v) { return ($1)v; }\n";
inline constexpr std::string_view kLoadNarrow = R"(static inline float zrt_load_$0(const void *p, uint64_t i) {
  $1 x;
  memcpy(&x, (const unsigned char *)p + i * sizeof x, sizeof x);
  return zrt_from_$0(x);
}
)";
inline constexpr std::string_view kStoreNarrow = R"(static inline void zrt_store_$0(void *p, uint64_t i, float v) {
  const $1 x = zrt_to_$0(v);
  memcpy((unsigned char *)p + i * sizeof x, &x, sizeof x);
}
)";
inline constexpr std::string_view kWrapNarrow =
    "static inline float zrt_wrap_$0(float v) { return zrt_from_$0(zrt_to_$0(v)); }\n";
inline constexpr std::string_view kCopy =
    R"(static inline void zrt_copy_$0(void *to, uint64_t i, const void *from, uint64_t j, uint64_t count) {
  memcpy((unsigned char *)to + i * $0, (const unsigned char *)from + j * $0, count * $0);
}
)";

// Callees stand before their callers, here and in the arrays one after the other.

inline constexpr auto kElementHelpers = std::to_array<Helper>({
    {"zrt_fail", R"(static inline void zrt_fail(int *status, int code) {
  if (*status == 0) *status = code;
}
)"},
    {"zrt_float", R"(static inline float zrt_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
)"},
    {"zrt_bits", R"(static inline uint32_t zrt_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
)"},
    {"zrt_narrow",
     R"(/* The code of a finite |x| in a float of that bias and so many mantissa bits, ties to even; more than
   the largest code where it overflows. */
static inline uint32_t zrt_narrow(uint32_t magnitude, int bias, int mantissa) {
  const int field = (int)(magnitude >> 23) - 127 + bias;
  const uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const int dropped = 23 - mantissa + (field < 1 ? 1 - field : 0);
  uint32_t code, rest, half;
  if (dropped > 25 || magnitude < 0x800000u) return 0;
  code = significand >> dropped;
  rest = significand & ((UINT32_C(1) << dropped) - 1);
  half = UINT32_C(1) << (dropped - 1);
  code += rest > half || (rest == half && (code & 1u) != 0);
  return field < 1 ? code : ((uint32_t)(field - 1) << mantissa) + code;
}
)"},
    {"zrt_from_bf16", "static inline float zrt_from_bf16(uint16_t x) { return zrt_float((uint32_t)x << 16); }\n"},
    {"zrt_to_bf16", R"(static inline uint16_t zrt_to_bf16(float x) {
  const uint32_t bits = zrt_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
)"},
    {"zrt_from_f16", R"(static inline float zrt_from_f16(uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000u) << 16;
  const uint32_t exponent = x >> 10 & 0x1fu;
  const uint32_t mantissa = x & 0x3ffu;
  if (exponent == 0x1f) return zrt_float(sign | 0x7f800000u | (mantissa != 0 ? 0x400000u : 0u) | mantissa << 13);
  if (exponent != 0) return zrt_float(sign | (exponent + 112u) << 23 | mantissa << 13);
  return zrt_float(sign | zrt_bits((float)mantissa * 0x1p-24f));
}
)"},
    {"zrt_to_f16", R"(static inline uint16_t zrt_to_f16(float x) {
  const uint32_t sign = zrt_bits(x) >> 16 & 0x8000u;
  const uint32_t magnitude = zrt_bits(x) & 0x7fffffffu;
  uint32_t code = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  if (magnitude <= 0x7f800000u) code = zrt_narrow(magnitude, 15, 10);
  return (uint16_t)(sign | (magnitude <= 0x7f800000u && code > 0x7c00u ? 0x7c00u : code));
}
)"},
    {"zrt_from_fp8_e4m3", R"(static inline float zrt_from_fp8_e4m3(uint8_t x) {
  const uint32_t sign = (uint32_t)(x & 0x80u) << 24;
  const uint32_t magnitude = x & 0x7fu;
  if (magnitude == 0x7f) return zrt_float(sign | 0x7fc00000u);
  if (magnitude >= 8) return zrt_float(sign | ((magnitude << 20) + (120u << 23)));
  return zrt_float(sign | zrt_bits((float)magnitude * 0x1p-9f));
}
)"},
    {"zrt_to_fp8_e4m3", R"(static inline uint8_t zrt_to_fp8_e4m3(float x) {
  const uint32_t sign = zrt_bits(x) >> 24 & 0x80u;
  const uint32_t magnitude = zrt_bits(x) & 0x7fffffffu;
  const uint32_t code = zrt_narrow(magnitude, 7, 3);
  return (uint8_t)(sign | (magnitude >= 0x7f800000u || code > 0x7eu ? 0x7fu : code));
}
)"},
    {"zrt_from_fp8_e5m2",
     "static inline float zrt_from_fp8_e5m2(uint8_t x) { return zrt_from_f16((uint16_t)(x << 8)); }\n"},
    {"zrt_to_fp8_e5m2", R"(static inline uint8_t zrt_to_fp8_e5m2(float x) {
  const uint32_t sign = zrt_bits(x) >> 24 & 0x80u;
  const uint32_t magnitude = zrt_bits(x) & 0x7fffffffu;
  uint32_t code = 0x7eu | (magnitude >> 21 & 3u);
  if (magnitude <= 0x7f800000u) code = zrt_narrow(magnitude, 15, 2);
  return (uint8_t)(sign | (magnitude <= 0x7f800000u && code > 0x7cu ? 0x7cu : code));
}
)"},
    {"zrt_odd_f64", R"(/* To float, to the neighbour whose last bit is 1, so that rounding once more rounds once. */
static inline float zrt_odd_f64(double x) {
  const float near = (float)x;
  const uint32_t bits = zrt_bits(near);
  if (x != x || (double)near == x || (bits & 1u) != 0) return near;
  return zrt_float(fabs((double)near) > fabs(x) ? bits - 1u : bits + 1u);
}
)"},
    {"zrt_odd_u64", R"(static inline float zrt_odd_u64(uint64_t x) {
  int cut = 0;
  for (; x >> 40 != 0; ++cut) x = x >> 1 | (x & 1u);
  return zrt_odd_f64(ldexp((double)x, cut));
}
)"},
    {"zrt_odd_i64", R"(static inline float zrt_odd_i64(int64_t x) {
  return x < 0 ? -zrt_odd_u64(0u - (uint64_t)x) : zrt_odd_u64((uint64_t)x);
}
)"},
    {"zrt_f64_to_i64", R"(static inline int64_t zrt_f64_to_i64(double x) {
  return x != x ? 0 : x < -0x1p63 ? INT64_MIN : x >= 0x1p63 ? INT64_MAX : (int64_t)x;
}
)"},
    {"zrt_f64_to_u64", R"(static inline uint64_t zrt_f64_to_u64(double x) {
  return !(x > 0) ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)x;
}
)"},
    {"zrt_i64_to_u64", "static inline uint64_t zrt_i64_to_u64(int64_t x) { return x < 0 ? 0 : (uint64_t)x; }\n"},
    {"zrt_u64_to_i64",
     "static inline int64_t zrt_u64_to_i64(uint64_t x) { return x > INT64_MAX ? INT64_MAX : (int64_t)x; }\n"},
    {"zrt_clamp_i64", R"(static inline int64_t zrt_clamp_i64(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}
)"},
    {"zrt_min_u64", "static inline uint64_t zrt_min_u64(uint64_t x, uint64_t high) { return x > high ? high : x; }\n"},
    {"zrt_load_i1", R"(static inline uint64_t zrt_load_i1(const void *p, uint64_t i) {
  return ((const unsigned char *)p)[i] != 0;
}
)"},
    {"zrt_store_i1", R"(static inline void zrt_store_i1(void *p, uint64_t i, uint64_t v) {
  ((unsigned char *)p)[i] = (unsigned char)(v & 1u);
}
)"},
    {"zrt_wrap_i1", "static inline uint64_t zrt_wrap_i1(uint64_t v) { return v & 1u; }\n"},
    {"zrt_load_ui4", R"(/* Two elements to a byte, the even one in its low half. */
static inline uint64_t zrt_load_ui4(const void *p, uint64_t i) {
  return ((const unsigned char *)p)[i / 2] >> i % 2 * 4 & 15u;
}
)"},
    {"zrt_store_ui4", R"(static inline void zrt_store_ui4(void *p, uint64_t i, uint64_t v) {
  unsigned char *const byte = (unsigned char *)p + i / 2;
  *byte = (unsigned char)(i % 2 == 0 ? (*byte & 0xf0u) | (v & 15u) : (*byte & 0x0fu) | (v & 15u) << 4);
}
)"},
    {"zrt_wrap_ui4", "static inline uint64_t zrt_wrap_ui4(uint64_t v) { return v & 15u; }\n"},
    {"zrt_wrap_si4",
     "static inline int64_t zrt_wrap_si4(int64_t v) { return (int64_t)(((uint64_t)v & 15u) ^ 8u) - 8; }\n"},
    {"zrt_load_si4", R"(static inline int64_t zrt_load_si4(const void *p, uint64_t i) {
  return zrt_wrap_si4((int64_t)zrt_load_ui4(p, i));
}
)"},
    {"zrt_store_si4",
     "static inline void zrt_store_si4(void *p, uint64_t i, int64_t v) { zrt_store_ui4(p, i, (uint64_t)v); }\n"},
    {"zrt_copy_half",
     R"(static inline void zrt_copy_half(void *to, uint64_t i, const void *from, uint64_t j, uint64_t count) {
  for (uint64_t k = 0; k < count; ++k) zrt_store_ui4(to, i + k, zrt_load_ui4(from, j + k));
}
)"},
});

inline constexpr auto kWordTypes = std::to_array<HelperTypes>({{"si8", "int8_t", "int64_t"},
                                                               {"ui8", "uint8_t", "uint64_t"},
                                                               {"si16", "int16_t", "int64_t"},
                                                               {"ui16", "uint16_t", "uint64_t"},
                                                               {"si32", "int32_t", "int64_t"},
                                                               {"ui32", "uint32_t", "uint64_t"},
                                                               {"si64", "int64_t", "int64_t"},
                                                               {"ui64", "uint64_t", "uint64_t"},
                                                               {"f32", "float", "float"},
                                                               {"f64", "double", "double"}});
inline constexpr auto kNarrowTypes = std::to_array<HelperTypes>(
    {{"fp8_e4m3", "uint8_t"}, {"fp8_e5m2", "uint8_t"}, {"bf16", "uint16_t"}, {"f16", "uint16_t"}});
inline constexpr auto kSizes = std::to_array<HelperTypes>({{"1"}, {"2"}, {"4"}, {"8"}, {"16"}});
inline constexpr auto kWordHelpers = each_with(
    std::to_array<Helper>({{"zrt_load_$0", kLoad}, {"zrt_store_$0", kStore}, {"zrt_wrap_$0", kWrap}}), kWordTypes);
inline constexpr auto kNarrowHelpers = each_with(
    std::to_array<Helper>({{"zrt_load_$0", kLoadNarrow}, {"zrt_store_$0", kStoreNarrow}, {"zrt_wrap_$0", kWrapNarrow}}),
    kNarrowTypes);
inline constexpr auto kCopyHelpers = each_with(std::to_array<Helper>({{"zrt_copy_$0", kCopy}}), kSizes);

}  // namespace detail
}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
