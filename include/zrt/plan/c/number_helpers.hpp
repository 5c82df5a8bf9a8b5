// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/number_helpers.hpp: arithmetic that is more than an expression, in C.
#pragma once

#include <zrt/plan/c/helper.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {
namespace detail {

inline constexpr std::string_view kTree = R"(static inline $1 zrt_tree_$0($1 *lane) {
  for (int half = 8; half != 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}
)";
inline constexpr std::string_view kGreater = "static inline int zrt_greater_$0($1 a, $1 b) { return $2; }\n";
inline constexpr std::string_view kBefore =
    R"(static inline int zrt_before_$0($1 a, uint64_t i, $1 b, uint64_t j, int largest) {
  if (zrt_greater_$0(a, b)) return largest;
  if (zrt_greater_$0(b, a)) return !largest;
  return i < j;
}
)";

inline constexpr auto kNumberHelpers = std::to_array<Helper>({
    {"zrt_div_i64", R"(static inline int64_t zrt_div_i64(int64_t a, int64_t b, int *status) {
  if (b == 0) {
    zrt_fail(status, 1);
    return 0;
  }
  return b == -1 ? (int64_t)(0u - (uint64_t)a) : a / b;
}
)"},
    {"zrt_div_u64", R"(static inline uint64_t zrt_div_u64(uint64_t a, uint64_t b, int *status) {
  if (b == 0) {
    zrt_fail(status, 1);
    return 0;
  }
  return a / b;
}
)"},
    {"zrt_part", R"(/* Where a worker's part of n begins. */
static inline uint64_t zrt_part(uint64_t n, uint64_t part, uint64_t parts) {
  return n / parts * part + n % parts * part / parts;
}
)"},
    {"zrt_start", R"(/* Where a window begins: clamped to [0, last]. */
static inline uint64_t zrt_start(int64_t start, uint64_t last) {
  return start < 0 ? 0 : (uint64_t)start < last ? (uint64_t)start : last;
}
)"},
    {"zrt_philox", R"(/* Philox4x32-10 (Salmon et al. 2011): four words for an element of a stream under a key. */
static inline void zrt_philox(uint64_t element, uint64_t stream, uint64_t seed, uint32_t *w) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  w[0] = (uint32_t)element, w[1] = (uint32_t)(element >> 32);
  w[2] = (uint32_t)stream, w[3] = (uint32_t)(stream >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = (uint64_t)0xD2511F53u * w[0];
    const uint64_t b = (uint64_t)0xCD9E8D57u * w[2];
    w[0] = (uint32_t)(b >> 32) ^ w[1] ^ k0;
    w[1] = (uint32_t)b;
    w[2] = (uint32_t)(a >> 32) ^ w[3] ^ k1;
    w[3] = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}
)"},
    {"zrt_upper_53", R"(static inline uint64_t zrt_upper_53(uint32_t high, uint32_t low) {
  return ((uint64_t)high << 32 | low) >> 11;
}
)"},
    {"zrt_normal_f32", R"(static inline float zrt_normal_f32(const uint32_t *w) {
  const float u = (float)((w[0] >> 8) + 1) * 0x1p-24f;
  const float v = (float)(w[1] >> 8) * 0x1p-24f;
  return sqrtf(fabsf(logf(u) * 2.0f)) * cosf(v * 0x1.921fb6p+2f);
}
)"},
    {"zrt_normal_f64", R"(static inline double zrt_normal_f64(const uint32_t *w) {
  const double u = (double)(zrt_upper_53(w[0], w[1]) + 1) * 0x1p-53;
  const double v = (double)zrt_upper_53(w[2], w[3]) * 0x1p-53;
  return sqrt(fabs(log(u) * 2.0)) * cos(v * 0x1.921fb54442d18p+2);
}
)"},
    {"zrt_whole_i64",
     R"(/* A whole number of a sign, the bit of 2^64 and 64 bits; what exceeds them is the largest such number. */
typedef struct {
  uint64_t magnitude;
  int negative;
  int above;
} zrt_whole;
static inline zrt_whole zrt_whole_i64(int64_t x) {
  const zrt_whole w = {x < 0 ? 0u - (uint64_t)x : (uint64_t)x, x < 0, 0};
  return w;
}
)"},
    {"zrt_whole_u64", R"(static inline zrt_whole zrt_whole_u64(uint64_t x) {
  zrt_whole w = zrt_whole_i64(0);
  w.magnitude = x;
  return w;
}
)"},
    {"zrt_whole_f64", R"(/* The nearest whole number, ties to even; 0 for NaN. */
static inline zrt_whole zrt_whole_f64(double x) {
  zrt_whole w = zrt_whole_i64(0);
  const double size = x != x ? 0.0 : nearbyint(fabs(x));
  w.above = size >= 0x1p64;
  w.magnitude = size >= 0x1p65 ? UINT64_MAX : (uint64_t)(w.above ? size - 0x1p64 : size);
  w.negative = x < 0;
  return w;
}
)"},
    {"zrt_whole_plus", R"(static inline zrt_whole zrt_whole_plus(zrt_whole a, int64_t x) {
  const zrt_whole b = zrt_whole_i64(x);
  if (a.negative == b.negative) {
    const int carry = a.magnitude + b.magnitude < a.magnitude;
    a.magnitude = carry && a.above ? UINT64_MAX : a.magnitude + b.magnitude;
    a.above |= carry;
    return a;
  }
  if (!a.above && a.magnitude == b.magnitude) return zrt_whole_i64(0);
  if (!a.above && a.magnitude < b.magnitude) {
    a.magnitude = b.magnitude - a.magnitude;
    a.negative = b.negative;
    return a;
  }
  a.above = a.above && a.magnitude >= b.magnitude;
  a.magnitude -= b.magnitude;
  return a;
}
)"},
    {"zrt_whole_to_i64", R"(static inline int64_t zrt_whole_to_i64(zrt_whole w) {
  if (w.negative) return w.above || w.magnitude > INT64_MAX ? INT64_MIN : -(int64_t)w.magnitude;
  return w.above ? INT64_MAX : zrt_u64_to_i64(w.magnitude);
}
)"},
    {"zrt_whole_to_u64",
     "static inline uint64_t zrt_whole_to_u64(zrt_whole w) {\n"
     "  return w.negative ? 0 : w.above ? UINT64_MAX : w.magnitude;\n}\n"},
    {"zrt_whole_to_f32", R"(static inline float zrt_whole_to_f32(zrt_whole w) {
  const float size = (float)w.magnitude + (w.above ? 0x1p64f : 0.0f);
  return w.negative ? -size : size;
}
)"},
    {"zrt_whole_to_f64", R"(static inline double zrt_whole_to_f64(zrt_whole w) {
  const double size = (double)w.magnitude + (w.above ? 0x1p64 : 0.0);
  return w.negative ? -size : size;
}
)"},
});

inline constexpr auto kDomains = std::to_array<HelperTypes>({{"f32", "float", "a != a ? b == b : a > b"},
                                                             {"f64", "double", "a != a ? b == b : a > b"},
                                                             {"i64", "int64_t", "a > b"},
                                                             {"u64", "uint64_t", "a > b"}});

inline constexpr auto kDomainHelpers =
    each_with(std::to_array<Helper>({{"zrt_tree_$0", kTree}, {"zrt_greater_$0", kGreater}, {"zrt_before_$0", kBefore}}),
              kDomains);

}  // namespace detail
}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
