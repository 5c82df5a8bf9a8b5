// SPDX-License-Identifier: Apache-2.0
// zrt/quant/encode/fit.hpp: scales and offsets under which integers come nearest to given numbers.
#pragma once

#include <zrt/core/config.hpp>

#include <cstdint>

ZRT_FP_BEGIN
namespace zrt::inline ZRT_ABI::quant {

/// The most elements under one scale.
inline constexpr std::uint32_t kMostFitted = 256;

/// A scale and an offset: value = scale · integer + offset.
struct AffineFit {
  float scale = 0.0f;
  float offset = 0.0f;
};

/// Writes the integers nearest to (x - offset) / scale, all of them the one nearest to 0 where the scale is 0.
template <class Integers>
constexpr void nearest_integers(const float* x, std::uint32_t count, AffineFit fit, std::int8_t* q) noexcept {
  const float inverse = fit.scale == 0.0f ? 0.0f : 1.0f / fit.scale;
  for (std::uint32_t i = 0; i < count; ++i) q[i] = Integers::nearest((x[i] - fit.offset) * inverse);
}

/// The sum of weight · (x - value)².
[[nodiscard]] constexpr double fit_error(const float* x, const float* weight, std::uint32_t count, const std::int8_t* q,
                                         AffineFit fit) noexcept {
  float error = 0.0f;
  for (std::uint32_t i = 0; i < count; ++i) {
    const float off = x[i] - (fit.scale * static_cast<float>(q[i]) + fit.offset);
    error += weight[i] * (off * off);
  }
  return static_cast<double>(error);
}

namespace detail {

/// The scale that suits the integers best, by least squares; 0 where all are 0.
[[nodiscard]] constexpr float best_scale(const float* x, const float* weight, std::uint32_t count,
                                         const std::int8_t* q) noexcept {
  float products = 0.0f;
  float squares = 0.0f;
  for (std::uint32_t i = 0; i < count; ++i) {
    const float wq = weight[i] * static_cast<float>(q[i]);
    products += wq * x[i];
    squares += wq * static_cast<float>(q[i]);
  }
  return squares > 0.0f ? products / squares : 0.0f;
}

/// Scale and offset that suit the integers best. With `never_positive` an offset above 0 becomes 0.
[[nodiscard]] constexpr AffineFit best_line(const float* x, const float* weight, std::uint32_t count,
                                            const std::int8_t* q, bool never_positive) noexcept {
  double w = 0, wq = 0, wqq = 0, wx = 0, wqx = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double each = static_cast<double>(weight[i]);
    const double integer = q[i];
    w += each;
    wq += each * integer;
    wqq += each * integer * integer;
    wx += each * static_cast<double>(x[i]);
    wqx += each * integer * static_cast<double>(x[i]);
  }
  const double determinant = w * wqq - wq * wq;
  AffineFit fit;
  if (determinant > 0) {
    fit.scale = static_cast<float>((w * wqx - wq * wx) / determinant);
    fit.offset = static_cast<float>((wqq * wx - wq * wqx) / determinant);
  } else {
    fit.offset = w > 0 ? static_cast<float>(wx / w) : 0.0f;
  }
  if (never_positive && fit.offset > 0.0f) fit = {best_scale(x, weight, count, q), 0.0f};
  return fit;
}

}  // namespace detail

/// Finds the scale under which `count` integers of a type come nearest to `x`: the sum of weight · (x - scale · q)² is
/// least among the scales tried, each improved by least squares.
///
/// The scales tried map the largest number to the end of the range and to values around it. A negative scale is tried
/// where the range is lopsided.
template <class Integers>
[[nodiscard]] constexpr float fit_scale(const float* x, const float* weight, std::uint32_t count) noexcept {
  float largest = 0.0f;
  for (std::uint32_t i = 0; i < count; ++i) {
    const float size = x[i] < 0.0f ? -x[i] : x[i];
    if (size > (largest < 0.0f ? -largest : largest)) largest = x[i];
  }
  if (largest == 0.0f) return 0.0f;
  constexpr bool kLopsided = Integers::kLow != -Integers::kHigh;
  constexpr int kSteps = 9;
  std::int8_t q[kMostFitted];
  float best = 0.0f;
  double least = -1.0;
  for (std::uint32_t i = 0; i < count; ++i) q[i] = 0;
  // Less than this is rounding, and no reason to prefer a scale that is not exact.
  const double noise = 1e-9 * fit_error(x, weight, count, q, {});
  const auto keep = [&](float scale) {
    const double error = fit_error(x, weight, count, q, {scale, 0.0f});
    if (least >= 0.0 && error + noise >= least) return;
    least = error;
    best = scale;
  };
  const auto take = [&](float scale) {
    nearest_integers<Integers>(x, count, {scale, 0.0f}, q);
    keep(scale);
    const float better = detail::best_scale(x, weight, count, q);
    if (better == 0.0f) return;
    nearest_integers<Integers>(x, count, {better, 0.0f}, q);
    keep(better);
  };
  for (int side = 0; side < (kLopsided ? 2 : 1); ++side) {
    const float end = static_cast<float>(side == 0 ? Integers::kLow : Integers::kHigh);
    // By 40ths of the range on both sides of its end, the nearer first: the end itself is often exact.
    for (int step = 0; step <= 2 * kSteps; ++step) {
      const int away = step % 2 == 0 ? -(step / 2) : step / 2 + 1;
      take(largest / (end * (1.0f + static_cast<float>(away) * 0.025f)));
    }
  }
  if (!kLopsided && best < 0.0f) best = -best;
  return best;
}

/// Finds scale and offset under which integers of a type, whose lowest is 0, come nearest to `x`, as fit_scale does.
template <class Integers>
[[nodiscard]] constexpr AffineFit fit_line(const float* x, const float* weight, std::uint32_t count,
                                           bool never_positive) noexcept {
  float low = x[0];
  float high = x[0];
  for (std::uint32_t i = 1; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  if (never_positive && low > 0.0f) low = 0.0f;
  if (!(high > low)) return {0.0f, low};
  constexpr int kSteps = 15;
  std::int8_t q[kMostFitted];
  AffineFit best{0.0f, low};
  double least = -1.0;
  for (int step = 0; step < kSteps; ++step) {
    const int away = step < 11 ? (step % 2 == 0 ? step / 2 : -(step / 2) - 1) : step - 5;
    const float top = static_cast<float>(Integers::kHigh) * (1.0f + static_cast<float>(away) * 0.03f);
    AffineFit fit{(high - low) / top, low};
    for (int again = 0; again < 3; ++again) {
      nearest_integers<Integers>(x, count, fit, q);
      const AffineFit next = detail::best_line(x, weight, count, q, never_positive);
      if (!(next.scale > 0.0f)) break;
      fit = next;
    }
    nearest_integers<Integers>(x, count, fit, q);
    const double error = fit_error(x, weight, count, q, fit);
    if (least < 0.0 || error < least) {
      least = error;
      best = fit;
    }
  }
  return best;
}

}  // namespace zrt::inline ZRT_ABI::quant
ZRT_FP_END
