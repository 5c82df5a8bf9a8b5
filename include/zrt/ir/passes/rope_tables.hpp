// SPDX-License-Identifier: Apache-2.0
// zrt/ir/passes/rope_tables.hpp: the frequencies of rotary positions from tables of their cosines and sines.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/core/elementary64.hpp>
#include <zrt/core/vector.hpp>
#include <zrt/ops/rope.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::detail {

/// Tables cos[t][i] and sin[t][i] of f32: `rows` positions from 0 on, of which each row has `width` entries.
struct RopeTables {
  Span<const std::byte> cos;
  Span<const std::byte> sin;
  std::uint32_t rows = 0;
  std::uint32_t width = 0;

  [[nodiscard]] float at(Span<const std::byte> table, std::uint32_t t, std::uint32_t i) const noexcept {
    float value = 0;
    std::memcpy(&value, table.data() + (std::size_t{t} * width + i) * sizeof(float), sizeof(float));
    return value;
  }
};

/// How far the op's cosines and sines may lie from the tables'.
inline constexpr double kRopeBound = 2e-6;

/// How far a wave of `frequency` lies from column `i` at position `t`.
[[nodiscard]] inline double wave_distance(const RopeTables& tables, std::uint32_t i, float frequency,
                                          std::uint32_t t) noexcept {
  const float angle = math::sealed(static_cast<float>(t) * frequency);
  const double c = double{math::cos(angle)} - double{tables.at(tables.cos, t, i)};
  const double s = double{math::sin(angle)} - double{tables.at(tables.sin, t, i)};
  const double off = (c < 0 ? -c : c) > (s < 0 ? -s : s) ? c : s;
  return off < 0 ? -off : off;
}

/// The frequency of column `i`, by turning an estimate towards the table at positions 1, 2, 4, ... and the last.
/// Newton's step for the angle between two unit vectors is the sine of it.
[[nodiscard]] inline double wave_frequency(const RopeTables& tables, std::uint32_t i) noexcept {
  double frequency = 0.5;
  for (std::uint64_t t = 1; t < tables.rows; t = t * 2 < tables.rows   ? t * 2
                                                 : t + 1 < tables.rows ? tables.rows - 1
                                                                       : tables.rows) {
    const auto row = static_cast<std::uint32_t>(t);
    const double c = double{tables.at(tables.cos, row, i)};
    const double s = double{tables.at(tables.sin, row, i)};
    for (int step = 0; step < (t == 1 ? 8 : 2); ++step) {
      const double angle = static_cast<double>(t) * frequency;
      const double across = s * math::cos64(angle);
      const double along = c * math::sin64(angle);
      frequency += (across - along) / static_cast<double>(t);
    }
  }
  return frequency;
}

/// The parameters, and if need be the factors of the pairs, that give the first `pairs` columns of the tables.
struct RopeFit {
  ops::RopeParams params{};
  bool factored = false;
  std::array<float, ops::Rope::kMaxPairs> factor{};
};

/// Fits the tables; none where they are no rotations by multiples of one angle for each pair.
[[nodiscard]] inline std::optional<RopeFit> fit_rope(const RopeTables& tables, std::uint32_t pairs) noexcept {
  if (tables.rows < 2 || pairs == 0 || pairs > ops::Rope::kMaxPairs) return std::nullopt;
  RopeFit fit;
  fit.params.n_rot = 2 * pairs;
  // Over every position, or over 64 of them, the last one included.
  const auto distance = [&](std::uint32_t i, const float* factors, bool all) {
    const float frequency = ops::rope_frequency(fit.params, factors, i);
    const std::uint32_t step = all || tables.rows < 64 ? 1 : tables.rows / 64;
    double worst = 0;
    for (std::uint32_t t = 0; t < tables.rows; t += step) {
      const double off = wave_distance(tables, i, frequency, tables.rows - 1 - t);
      if (!(off <= worst)) worst = off;
      if (!(worst <= kRopeBound)) break;
    }
    return worst;
  };
  const auto fits = [&](const float* factors) {
    for (std::uint32_t i = 0; i < pairs; ++i)
      if (!(distance(i, factors, true) <= kRopeBound)) return false;
    return true;
  };
  // base^(-2i/n) of pair `i`; bases are whole numbers, which the rounding of a table hides a little.
  const auto take_base = [&](std::uint32_t i) {
    const double frequency = wave_frequency(tables, i);
    if (!(frequency > 0.0)) return false;
    if (i == 0) return true;
    const double base = math::exp64(-math::log64(frequency) * pairs / static_cast<double>(i));
    if (!(base > 1.5) || !(base < 1e15)) return false;
    const double whole = static_cast<double>(static_cast<std::int64_t>(base + 0.5));
    const double off = base - whole;
    fit.params.base = static_cast<float>((off < 0 ? -off : off) <= 1e-5 * base ? whole : base);
    return true;
  };
  if (!take_base(pairs - 1)) return std::nullopt;
  if (fits(nullptr)) return fit;
  // Each frequency by a factor of its own: of the roundings of its quotient the one that comes closest. A scale of all
  // puts the quotients of powers of the base just below 2, where f32 is finest and reaches every frequency of f32.
  fit.factored = true;
  // Scalings leave the fast pairs as they are.
  if (!take_base(pairs > 1 ? 1 : 0)) return std::nullopt;
  fit.params.scaling = ops::RopeScaling::linear;
  fit.params.factor = 0.502f;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const double wanted = wave_frequency(tables, i);
    if (!(wanted > 0.0)) return std::nullopt;
    const auto quotient =
        static_cast<float>(math::exp64(-2.0 * i / fit.params.n_rot * math::log64(double{fit.params.base})) /
                           (wanted * double{fit.params.factor}));
    if (!(quotient > 0.0f) || !(quotient < 1e30f)) return std::nullopt;
    const auto bits = std::bit_cast<std::uint32_t>(quotient);
    double best = 1;
    float chosen = quotient;
    for (std::uint32_t step = 0; step < 9; ++step) {
      fit.factor[i] = std::bit_cast<float>(bits + step - 4);
      const double off = distance(i, fit.factor.data(), false);
      if (off < best) {
        best = off;
        chosen = fit.factor[i];
      }
    }
    fit.factor[i] = chosen;
  }
  return fits(fit.factor.data()) ? std::optional(fit) : std::nullopt;
}

}  // namespace zrt::inline ZRT_ABI::ir::detail

ZRT_LOAD_TIME_END
