// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rope_frequencies.hpp: the angular frequency of every rotated pair, with the scalings that files name.
#pragma once

#include <zrt/core/elementary64.hpp>
#include <zrt/ops/params.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// Which elements form a rotated pair: (2i, 2i+1), or (i, i + n_rot/2).
enum class RopeStyle : std::uint8_t { interleaved, neox };
enum class RopeScaling : std::uint8_t { none, linear, yarn };

struct RopeParams {
  std::uint32_t head_dim = 0;
  std::uint32_t n_rot = 0;  ///< leading dims that rotate; 0 leaves the input as it is
  float base = 10000.0f;
  float factor = 1.0f;     ///< linear and yarn: positions are divided by it
  float magnitude = 1.0f;  ///< cos and sin are multiplied by it
  float beta_fast = 32.0f;
  float beta_slow = 1.0f;
  std::uint32_t original_context = 0;  ///< yarn
  RopeStyle style = RopeStyle::interleaved;
  RopeScaling scaling = RopeScaling::none;
  std::array<std::uint8_t, 2> reserved{};

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(
      Member{&RopeParams::head_dim, "head_dim"}, Member{&RopeParams::n_rot, "n_rot"}, Member{&RopeParams::base, "base"},
      Member{&RopeParams::factor, "factor"}, Member{&RopeParams::magnitude, "magnitude"},
      Member{&RopeParams::beta_fast, "beta_fast"}, Member{&RopeParams::beta_slow, "beta_slow"},
      Member{&RopeParams::original_context, "original_context"}, Member{&RopeParams::style, "style"},
      Member{&RopeParams::scaling, "scaling"}, Member{&RopeParams::reserved, "reserved"});
};

namespace detail {

/// The pair index whose wave turns `rotations` times over the original context (YaRN, section 3.2).
[[nodiscard]] inline double yarn_pair(const RopeParams& p, double rotations) noexcept {
  constexpr double kTwoPi = 6.283185307179586476925286766559;
  return p.n_rot * math::log64(p.original_context / (rotations * kTwoPi)) / (2.0 * math::log64(double{p.base}));
}

}  // namespace detail

/// Angle per position of pair `i`: base^(-2i/n_rot), over factors[i] if given, scaled.
///
/// Computed in f64 and rounded once, so that every backend starts from the same table.
/// Sources: Su et al., "RoFormer"; Peng et al., "YaRN"; factors are GGUF's rope_freqs tensor.
[[nodiscard]] inline float rope_frequency(const RopeParams& p, const float* factors, std::uint32_t i) noexcept {
  double frequency = math::exp64(-2.0 * i / p.n_rot * math::log64(double{p.base}));
  if (factors != nullptr) frequency /= double{factors[i]};
  if (p.scaling == RopeScaling::linear) frequency /= double{p.factor};
  if (p.scaling == RopeScaling::yarn) {
    const double fast = detail::yarn_pair(p, double{p.beta_fast});
    const double slow = detail::yarn_pair(p, double{p.beta_slow});
    const double low = fast < 0.0 ? 0.0 : static_cast<double>(static_cast<std::int64_t>(fast));
    const auto whole = static_cast<std::int64_t>(slow);
    double high = static_cast<double>(whole) + (slow > static_cast<double>(whole) ? 1.0 : 0.0);
    if (high > p.n_rot - 1.0) high = p.n_rot - 1.0;
    const double width = high - low < 0.001 ? 0.001 : high - low;
    double ramp = (i - low) / width;
    ramp = ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp;
    const double interpolated = frequency / double{p.factor};
    // ramp 0 keeps the frequency (fast pairs), ramp 1 interpolates it.
    frequency = __builtin_fma(frequency, 1.0 - ramp, interpolated * ramp);
  }
  return static_cast<float>(frequency);
}

/// What cos and sin are multiplied by: the file's magnitude and YaRN's 1 + 0.1 ln(factor).
[[nodiscard]] inline float rope_magnitude(const RopeParams& p) noexcept {
  if (p.scaling != RopeScaling::yarn) return p.magnitude;
  return static_cast<float>(double{p.magnitude} * __builtin_fma(0.1, math::log64(double{p.factor}), 1.0));
}

}  // namespace zrt::inline ZRT_ABI::ops
