// SPDX-License-Identifier: Apache-2.0
// zrt/ops/cast.hpp: element type conversion.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

struct CastParams {
  DType dtype = DType::f32;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&CastParams::dtype, "dtype"});
};

/// Converts every element to another type by the rules of `cast_elements` (PTIR `Cast`).
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
    const DType to = c.params.dtype;
    if (!is_dtype(static_cast<std::uint8_t>(to)) || is_block(to)) return bad_params<Cast>("dtype is not a plain type");
    if (auto r = expect_plain<Cast>(c.in[0], "x"); !r) return r;
    const DType from = c.in[0].type.dtype;
    if (!is_computed(from) && is_computed(to)) return bad_dtype<Cast>("x", "real for a cast to a real type", from);
    if (!is_computed(to))
      return fail(Errc::unimplemented, "cast: to ", zrt::name(to), ", and complex numbers are not computed");
    out[0] = {to, c.in[0].type.shape};
    return {};
  }

  /// A type to itself keeps every bit, but for i1, of which any byte but 0 is a 1.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Cast>& c) noexcept {
    const DType from = c.in[0].type.dtype;
    return from == c.params.dtype && from != DType::i1 ? std::optional<std::uint64_t>(0) : std::nullopt;
  }

  static void reference(const HostCall<Cast>& c, const ExecutionContext& step, const Worker&) noexcept {
    cast_elements(c.in[0].type.dtype, c.in[0].data, c.params.dtype, c.out[0].data, 0, c.in[0].elements(step));
  }
};
static_assert(Op<Cast>);

}  // namespace zrt::inline ZRT_ABI::ops
