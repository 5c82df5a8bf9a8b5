// SPDX-License-Identifier: Apache-2.0
// zrt/ops/rng_uniform.hpp: random numbers in [0, 1), each a function of seed, stream and its index.
#pragma once

#include <zrt/ops/attributes.hpp>
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

  static constexpr auto attributes = kRandomAttributes;

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    return infer_random<RngUniform>(c);
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

  /// The number of an element whose first words these are, in f64.
  [[nodiscard]] static double number64(std::uint32_t a, std::uint32_t b) noexcept {
    return static_cast<double>(upper_53(a, b)) * 0x1p-53;
  }
  /// The number of an element whose first word is `a`, in a type of `bits` bits of precision, at most 24.
  [[nodiscard]] static float number32(std::uint32_t a, unsigned bits) noexcept {
    return static_cast<float>(a >> (32 - bits)) * (1.0f / static_cast<float>(1u << bits));
  }

  static void reference(const HostCall<RngUniform>& c, const ExecutionContext& step, const Worker&) noexcept {
    using Words = std::array<std::uint32_t, 4>;
    if (c.params.dtype == DType::f64)
      return fill_random<double>(c, step,
                                 [](const Params&, const Words& words) { return number64(words[0], words[1]); });
    fill_random<float>(c, step,
                       [](const Params& p, const Words& words) { return number32(words[0], precision(p.dtype)); });
  }

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, RngUniform>& c) noexcept {
    const unsigned bits = RngUniform::precision(c.params.dtype);
    if (c.params.dtype == DType::f64)
      fill_random(f, c, {"(double)zrt_upper_53(w[0], w[1]) * 0x1p-53"});
    else
      fill_random(f, c, {"(float)(w[0] >> ", 32 - bits, ") * 0x1p-", bits, "f"});
  }
};
static_assert(Op<RngUniform>);

}  // namespace zrt::inline ZRT_ABI::ops
