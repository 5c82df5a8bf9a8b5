// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rng_normal.hpp: normally distributed random numbers, each a function of seed, stream and its index.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/random.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y[i] = sqrt(-2 log u) · cos(2 pi v), of mean 0 and variance 1 (PTIR `RngNormal`).
///
/// u in (0, 1] and v in [0, 1) come from element i's random words a, b, c, d: u = (a / 2^8 + 1) / 2^24
/// and v = (b / 2^8) / 2^24 in f32, rounded once more to narrower types; from 53 bits of a, b and of
/// c, d in f64. Quotients by 2^8 are cut. Every operation is rounded, log and cos are zrt's own, so
/// that the same key and stream give the same bits on every backend. The key is the operand `seed`, a
/// scalar of si64, and where that is absent the parameter of that name. |y| < 5.8, in f64 8.6.
struct RngNormal {
  using Params = RandomParams;
  static constexpr Opcode opcode{97};
  static constexpr std::string_view name = "rng_normal";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"seed", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = kRandomAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept { return infer_random<RngNormal>(c); }

  /// u, and 2 pi v, of an element in f32 and narrower types.
  [[nodiscard]] static float radius_draw(std::uint32_t a) noexcept {
    return static_cast<float>((a >> 8) + 1) * 0x1p-24f;
  }
  [[nodiscard]] static float angle(std::uint32_t b) noexcept {
    const float v = static_cast<float>(b >> 8) * 0x1p-24f;
    return math::sealed(v * 0x1.921fb6p+2f);
  }
  /// The number that the logarithm of u and the cosine of 2 pi v make.
  [[nodiscard]] static float from_polar(float log_u, float cosine) noexcept {
    const float radius = __builtin_sqrtf(__builtin_fabsf(log_u * 2.0f));
    return math::sealed(radius * cosine);
  }
  /// The number of an element with these words in f64.
  [[nodiscard]] static double number64(const RandomParams&, const std::array<std::uint32_t, 4>& words) noexcept {
    const double u = static_cast<double>(upper_53(words[0], words[1]) + 1) * 0x1p-53;
    const double v = static_cast<double>(upper_53(words[2], words[3])) * 0x1p-53;
    const double radius = __builtin_sqrt(__builtin_fabs(math::log64(u) * 2.0));
    return math::sealed(radius * math::cos64(math::sealed(v * 0x1.921fb54442d18p+2)));
  }

  static void reference(const HostCall<RngNormal>& c, const ExecutionContext& step, const Worker&) noexcept {
    if (c.params.dtype == DType::f64) return fill_random<double>(c, step, &number64);
    fill_random<float>(c, step, [](const Params&, const std::array<std::uint32_t, 4>& words) {
      return from_polar(math::log(radius_draw(words[0])), math::cos(angle(words[1])));
    });
  }

  static constexpr Gradient gradient = Gradient::stops();

  static constexpr float bound_in_c = kLibmBound;
  template <class E> static void emit_c(E& f, const Call<E, RngNormal>& c) noexcept {
    fill_random(f, c, {"zrt_normal_", E::c_name(domain_of(c.params.dtype)), "(w)"});
  }
};
static_assert(Op<RngNormal>);

}  // namespace zrt::inline ZRT_ABI::ops
