// SPDX-License-Identifier: Apache-2.0
// zrt/ops/cast.hpp: element type conversion.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/ops/attributes.hpp>

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

  static constexpr auto attributes = attribute_list(attribute::dtype("dtype", &Params::dtype));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const DType to = c.dtype(at<Cast>("dtype"));
    if (!is_castable(c.in[0].dtype, to))
      return c.wrong(Errc::dtype_mismatch, 0, "a real dtype to cast to ", zrt::name(to));
    if (auto r = c.computed(to, "the result"); !r) return r;
    return c.give(to, c.in[0].shape);
  }

  /// A type to itself keeps every bit, but for i1, of which any byte but 0 is a 1.
  static constexpr std::optional<std::uint64_t> view(const TypeCall<Cast>& c) noexcept {
    const DType from = c.in[0].type.dtype;
    return from == c.params.dtype && from != DType::i1 ? std::optional<std::uint64_t>(0) : std::nullopt;
  }

  static void reference(const HostCall<Cast>& c, const ExecutionContext& step, const Worker&) noexcept {
    cast_elements(c.in[0].type.dtype, c.in[0].data, c.params.dtype, c.out[0].data, 0, c.in[0].elements(step));
  }

  template <class G> static void gradient(G& c) noexcept {
    c.give(0, c.builder().cast(c.cotangent(), c.in_type(0).dtype));
  }

  template <class E> static void emit_c(E& f, const Call<E, Cast>& c) noexcept {
    const DType from = c.in[0].dtype();
    // A float keeps every bit, those of a NaN too.
    if (from == c.params.dtype && is_float(from)) return copy_whole(f.w, c.in[0], c.out[0]);
    f.w.loop({"i"}, c.out[0].elements());
    f.w.line({"const ", E::c_type(from), " x = ", load(c.in[0], {"i"}), ";"});
    store(f.w, c.out[0], {"i"}, E::cast({"x"}, from, c.params.dtype));
    f.w.close();
  }
};
static_assert(Op<Cast>);

}  // namespace zrt::inline ZRT_ABI::ops
