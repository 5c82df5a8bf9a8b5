// SPDX-License-Identifier: Apache-2.0
// bench/kernels/free_order.cpp: compiled with -O3 -ffast-math -march=native. Lanes run along a row, so that a row's
// sums lie in as many lanes as the machine has, and are added at the end.
#include "free_order.hpp"

#include <cmath>
#if defined(__AVX512VNNI__)
#include <immintrin.h>
#endif

namespace free_order {

void products_of_f32(const float* w, const float* x, std::size_t outputs, std::size_t cols, std::size_t rows,
                     float* y) {
  for (std::size_t n = 0; n + 4 <= outputs; n += 4)
    for (std::size_t t = 0; t < rows; ++t) {
      const float* const a = w + n * cols;
      const float* const v = x + t * cols;
      float sum[4]{};
      for (std::size_t k = 0; k < cols; ++k)
        for (std::size_t i = 0; i < 4; ++i) sum[i] += a[i * cols + k] * v[k];
      for (std::size_t i = 0; i < 4; ++i) y[t * outputs + n + i] = sum[i];
    }
}

namespace {

/// The dot products of one row of weights with kRows rows of activations, without the term of 128.
template <std::size_t kRows>
void dots(const std::uint8_t* q, const float* scale, const std::int8_t* x, const float* d, std::size_t cols,
          float (&sum)[kRows]) {
  const std::size_t blocks = cols / 32;
#if defined(__AVX512VNNI__)
  __m512 total[kRows]{};
  for (std::size_t b = 0; b + 2 <= blocks; b += 2) {
    const __m512i w = _mm512_loadu_si512(q + 32 * b);
    const auto both = [](const float* two) {
      return _mm512_insertf32x8(_mm512_set1_ps(two[0]), _mm256_set1_ps(two[1]), 1);
    };
    const __m512 scales = both(scale + b);
    for (std::size_t t = 0; t < kRows; ++t) {
      const __m512i v = _mm512_loadu_si512(x + t * cols + 32 * b);
      const __m512 dot = _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), w, v));
      total[t] = _mm512_fmadd_ps(_mm512_mul_ps(scales, both(d + t * blocks + b)), dot, total[t]);
    }
  }
  for (std::size_t t = 0; t < kRows; ++t) sum[t] = _mm512_reduce_add_ps(total[t]);
#else
  for (std::size_t t = 0; t < kRows; ++t) {
    sum[t] = 0.0f;
    for (std::size_t b = 0; b < blocks; ++b) {
      std::int32_t dot = 0;
      for (std::size_t i = 32 * b; i < 32 * b + 32; ++i) dot += std::int32_t{q[i]} * std::int32_t{x[t * cols + i]};
      sum[t] += scale[b] * d[t * blocks + b] * static_cast<float>(dot);
    }
  }
#endif
}

}  // namespace

void products_of_q8_0(const std::uint8_t* q, const float* scale, const std::int8_t* x, const float* d, const float* dx,
                      std::size_t outputs, std::size_t cols, std::size_t rows, float* y) {
  const std::size_t blocks = cols / 32;
  for (std::size_t n = 0; n < outputs; ++n) {
    const auto some = [&]<std::size_t kRows>(std::size_t t) {
      float sum[kRows];
      dots<kRows>(q + n * cols, scale + n * blocks, x + t * cols, d + t * blocks, cols, sum);
      for (std::size_t i = 0; i < kRows; ++i) {
        float offset = 0.0f;
        for (std::size_t b = 0; b < blocks; ++b) offset += scale[n * blocks + b] * dx[(t + i) * blocks + b];
        y[(t + i) * outputs + n] = sum[i] - offset;
      }
    };
    std::size_t t = 0;
    for (; t + 8 <= rows; t += 8) some.template operator()<8>(t);
    for (; t + 4 <= rows; t += 4) some.template operator()<4>(t);
    for (; t < rows; ++t) some.template operator()<1>(t);
  }
}

void rms_norm(const float* x, const float* weight, std::size_t cols, float eps, float* y) {
  float squares = 0.0f;
  for (std::size_t i = 0; i < cols; ++i) squares += x[i] * x[i];
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(cols) + eps);
  for (std::size_t i = 0; i < cols; ++i) y[i] = x[i] * scale * weight[i];
}

}  // namespace free_order
