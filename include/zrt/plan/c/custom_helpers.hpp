// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/custom_helpers.hpp: what the kernels of ONNX's operators call in C.
#pragma once

#include <zrt/plan/c/element_helpers.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c::detail {

inline constexpr std::string_view kModFloat = R"(/* The remainder with the sign of the divisor. */
static inline $1 zrt_mod_$0($1 a, $1 b) {
  const $1 rest = ($1)fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
)";

/// One sample of RoiAlign: bilinear, or the largest of the weighted neighbours.
inline constexpr std::string_view kRoiSample =
    R"(static inline double zrt_roi_sample_$0(const void *p, uint64_t plane, double y, double x, uint64_t h, uint64_t w,
                                          int largest) {
  double result = 0;
  if (!(y >= -1 && y <= (double)h && x >= -1 && x <= (double)w) || h == 0 || w == 0) return 0;
  y = y > 0 ? y : 0;
  x = x > 0 ? x : 0;
  uint64_t top = (uint64_t)y;
  uint64_t left = (uint64_t)x;
  if (top >= h - 1) y = (double)(top = h - 1);
  if (left >= w - 1) x = (double)(left = w - 1);
  const uint64_t bottom = top + 1 < h ? top + 1 : top;
  const uint64_t right = left + 1 < w ? left + 1 : left;
  const double dy = y - (double)top;
  const double dx = x - (double)left;
  for (int corner = 0; corner < 4; ++corner) {
    const double weight = (corner / 2 ? dy : 1 - dy) * (corner % 2 ? dx : 1 - dx);
    const uint64_t at = plane + (corner / 2 ? bottom : top) * w + (corner % 2 ? right : left);
    const double part = weight * zrt_load_$0(p, at);
    result = largest ? (corner == 0 || part > result ? part : result) : result + part;
  }
  return result;
}
)";
/// The pixel of GridSample at whole places; what lies outside is 0, or is folded in.
inline constexpr std::string_view kGridPixel =
    R"(static inline double zrt_grid_pixel_$0(const void *p, uint64_t plane, double row, double column, int64_t h, int64_t w,
                                          int aligned, int padding) {
  int64_t r = zrt_grid_whole(row);
  int64_t k = zrt_grid_whole(column);
  if (padding == 0) {
    if (r < 0 || r >= h || k < 0 || k >= w) return 0;
  } else {
    r = zrt_grid_fold(r, h, aligned, padding);
    k = zrt_grid_fold(k, w, aligned, padding);
  }
  return zrt_load_$0(p, plane * (uint64_t)(h * w) + (uint64_t)(r * w + k));
}
)";

inline constexpr auto kCustomNumberHelpers = std::to_array<Helper>({
    {"zrt_mod_i64", R"(/* The remainder with the sign of the divisor. */
static inline int64_t zrt_mod_i64(int64_t a, int64_t b, int *status) {
  int64_t rest;
  if (b == 0) zrt_fail(status, 1);
  if (b == 0 || b == -1) return 0;
  rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
)"},
    {"zrt_fmod_i64", R"(/* The remainder with the sign of the dividend. */
static inline int64_t zrt_fmod_i64(int64_t a, int64_t b, int *status) {
  if (b == 0) zrt_fail(status, 1);
  return b == 0 || b == -1 ? 0 : a % b;
}
)"},
    {"zrt_mod_u64", R"(static inline uint64_t zrt_mod_u64(uint64_t a, uint64_t b, int *status) {
  if (b == 0) zrt_fail(status, 1);
  return b == 0 ? 0 : a % b;
}
)"},
    {"zrt_pow_i64", R"(/* x to the power of y modulo 2^64. */
static inline int64_t zrt_pow_i64(int64_t x, int64_t y) {
  uint64_t result = 1, square = (uint64_t)x, left = (uint64_t)y;
  if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 != 0 ? -1 : 1) : 0;
  for (; left != 0; left >>= 1, square *= square)
    if (left % 2 != 0) result *= square;
  return (int64_t)result;
}
)"},
    {"zrt_pow_f64", R"(/* A small whole power is a product of as many factors. */
static inline double zrt_pow_f64(double x, double y) {
  const double times = fabs(y);
  double result = 1;
  int i;
  if (x == 0 || !(times <= 64) || nearbyint(y) != y) return pow(x, y);
  for (i = 0; i < (int)times; ++i) result *= fabs(x);
  if (y < 0) result = 1 / result;
  return x < 0 && (int)times % 2 != 0 ? -result : result;
}
)"},
    {"zrt_det", R"(/* The determinant of a matrix [n, n] of doubles, which is used up. */
static inline double zrt_det(void *m, uint64_t n) {
  double det = 1;
  for (uint64_t k = 0; k < n; ++k) {
    uint64_t pivot = k;
    for (uint64_t i = k + 1; i < n; ++i)
      if (fabs(zrt_load_f64(m, i * n + k)) > fabs(zrt_load_f64(m, pivot * n + k))) pivot = i;
    if (pivot != k) {
      for (uint64_t j = 0; j < n; ++j) {
        const double kept = zrt_load_f64(m, k * n + j);
        zrt_store_f64(m, k * n + j, zrt_load_f64(m, pivot * n + j));
        zrt_store_f64(m, pivot * n + j, kept);
      }
      det = -det;
    }
    det *= zrt_load_f64(m, k * n + k);
    if (zrt_load_f64(m, k * n + k) == 0) break;
    for (uint64_t i = k + 1; i < n; ++i) {
      const double factor = zrt_load_f64(m, i * n + k) / zrt_load_f64(m, k * n + k);
      for (uint64_t j = k; j < n; ++j)
        zrt_store_f64(m, i * n + j, fma(-factor, zrt_load_f64(m, k * n + j), zrt_load_f64(m, i * n + j)));
    }
  }
  return det;
}
)"},
    {"zrt_roi_samples", R"(/* An adaptive grid has a sample for each element, at most four times the extent. */
static inline int64_t zrt_roi_samples(double bin, uint64_t extent) {
  const double wanted = ceil(bin);
  const double most = (double)(4 * extent + 4);
  return wanted >= 1 ? (int64_t)(wanted < most ? wanted : most) : 1;
}
)"},
    {"zrt_grid_whole", R"(/* NaN and what is far outside come out far outside. */
static inline int64_t zrt_grid_whole(double x) {
  return x > -0x1p40 && x < 0x1p40 ? (int64_t)x : -(INT64_C(1) << 40);
}
)"},
    {"zrt_grid_reflect", R"(static inline double zrt_grid_reflect(double x, double low, double high) {
  const double range = high - low;
  double away;
  if (!(range > 0)) return 0;
  away = fmod(x < low ? low - x : x - low, 2 * range);
  if (away > range) away = 2 * range - away;
  return low + away;
}
)"},
    {"zrt_grid_place", R"(/* Padding: 0 zeros, 1 border, 2 reflection. */
static inline double zrt_grid_place(double at, int64_t extent, int aligned, int padding) {
  const double size = (double)extent;
  double x = aligned ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
  if (padding == 1) x = x > 0 ? (x < size - 1 ? x : size - 1) : 0;
  if (padding == 2) x = aligned ? zrt_grid_reflect(x, 0, size - 1) : zrt_grid_reflect(x, -0.5, size - 0.5);
  return x;
}
)"},
    {"zrt_grid_fold", R"(static inline int64_t zrt_grid_fold(int64_t at, int64_t extent, int aligned, int padding) {
  if (padding == 2 && (at < 0 || at >= extent)) {
    const double size = (double)extent;
    at = zrt_grid_whole(aligned ? zrt_grid_reflect((double)at, 0, size - 1)
                                : zrt_grid_reflect((double)at, -0.5, size - 0.5));
  }
  return at < 0 ? 0 : at >= extent ? extent - 1 : at;
}
)"},
    {"zrt_grid_weights", R"(static inline void zrt_grid_weights(double t, int cubic, double *w) {
  const double a = -0.75;
  w[0] = 0, w[1] = 1 - t, w[2] = t, w[3] = 0;
  if (!cubic) return;
  for (int i = 0; i < 4; ++i) {
    const double x = i == 0 ? 1 + t : i == 1 ? t : i == 2 ? 1 - t : 2 - t;
    w[i] = i == 1 || i == 2 ? fma(fma(a + 2, x, -(a + 3)), x * x, 1.0) : fma(fma(fma(a, x, -5 * a), x, 8 * a), x, -4 * a);
  }
}
)"},
});

inline constexpr auto kModFloatHelpers = each_with(std::to_array<Helper>({{"zrt_mod_$0", kModFloat}}),
                                                   std::to_array<HelperTypes>({{"f32", "float"}, {"f64", "double"}}));
inline constexpr auto kSampleHelpers =
    each_with(std::to_array<Helper>({{"zrt_roi_sample_$0", kRoiSample}, {"zrt_grid_pixel_$0", kGridPixel}}),
              std::to_array<HelperTypes>({{"f32"}, {"f64"}, {"f16"}, {"bf16"}, {"fp8_e4m3"}, {"fp8_e5m2"}}));

}  // namespace zrt::inline ZRT_ABI::plan::c::detail

ZRT_LOAD_TIME_END
