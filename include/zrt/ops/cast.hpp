// SPDX-License-Identifier: Apache-2.0
// zrt/ops/cast.hpp: element type conversion.
#pragma once

#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct CastParams {
  DType dtype = DType::f32;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&CastParams::dtype, "dtype"});
};

/// Converts si32 to the nearest f32; the pair that position arithmetic needs.
///
/// Errors: Errc::unimplemented for every other pair.
struct Cast {
  using Params = CastParams;
  static constexpr Opcode opcode{69};
  static constexpr std::string_view name = "cast";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Cast>& c, OutputTypes<Cast>& out) noexcept {
    if (!c.in[0].present()) return fail(Errc::dangling_value, "cast: input x is required");
    if (!is_dtype(static_cast<std::uint8_t>(c.params.dtype))) return bad_params<Cast>("dtype is not known");
    if (c.in[0].type.dtype != DType::si32 || c.params.dtype != DType::f32)
      return fail(Errc::unimplemented, "cast from ", zrt::name(c.in[0].type.dtype), " to ", zrt::name(c.params.dtype),
                  " is not computed; si32 to f32 is");
    out[0] = {c.params.dtype, c.in[0].type.shape};
    return {};
  }

  static void reference(const HostCall<Cast>& c, const ExecutionContext& step, const Worker&) noexcept {
    const auto* x = c.in[0].as<std::int32_t>();
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i) y[i] = static_cast<float>(x[i]);
  }
};
static_assert(Op<Cast>);

}  // namespace zrt::inline ZRT_ABI::ops
