// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rng_uniform.hpp: random numbers in [0, 1), each a function of seed, stream and its index.
#pragma once

#include <zrt/ops/random.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// y[i] = k / 2^p, where p is the precision of the type (53, 24, 11, 8, 4, 3 for f64, f32, f16, bf16,
/// fp8_e4m3, fp8_e5m2) and k the upper p bits of element i's first random word (f64: of the first two).
/// Every y[i] is exact and below 1 (PTIR `RngUniform`).
///
/// The key is the operand `seed`, a scalar of si64, and where that is absent the parameter of that name.
/// The same key and stream give the same bits on every backend, and an element's value depends neither on
/// the shape nor on the other elements.
struct RngUniform {
  using Params = RandomParams;
  static constexpr Opcode opcode{96};
  static constexpr std::string_view name = "rng_uniform";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"seed", true}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<RngUniform>& c, OutputTypes<RngUniform>& out) noexcept {
    return infer_random<RngUniform>(c, out);
  }

  /// Bits of the significand of a float, the leading one included.
  [[nodiscard]] static constexpr unsigned precision(DType dtype) noexcept {
    switch (dtype) {
      case DType::f64:
        return 53;
      case DType::f16:
        return 11;
      case DType::bf16:
        return 8;
      case DType::fp8_e4m3:
        return 4;
      case DType::fp8_e5m2:
        return 3;
      default:
        return 24;
    }
  }

  static void reference(const HostCall<RngUniform>& c, const ExecutionContext& step, const Worker&) noexcept {
    if (c.params.dtype == DType::f64)
      return fill_random<double>(c, step, [](const std::array<std::uint32_t, 4>& words) {
        return static_cast<double>(upper_53(words[0], words[1])) * 0x1p-53;
      });
    const unsigned bits = precision(c.params.dtype);
    const float unit = 1.0f / static_cast<float>(1u << bits);
    fill_random<float>(c, step, [&](const std::array<std::uint32_t, 4>& words) {
      return static_cast<float>(words[0] >> (32 - bits)) * unit;
    });
  }
};
static_assert(Op<RngUniform>);

}  // namespace zrt::inline ZRT_ABI::ops
