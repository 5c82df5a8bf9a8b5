// SPDX-License-Identifier: Apache-2.0
// zrt/ops/constant.hpp: a tensor literal or a weight read as a value.
#pragma once

#include <zrt/ops/attributes.hpp>
#include <zrt/ops/shape_rule.hpp>
#include <zrt/quant/types.hpp>

#include <cstring>

namespace zrt::inline ZRT_ABI::ops {

/// What a constant makes of the stored elements.
enum class ConstantForm : std::uint8_t {
  /// f32 for every type that weights are stored in (quant::Types), the stored type for any other:
  /// what expansions want, which compute with weights of any type.
  widened,
  /// The stored type, which is a plain one: a literal of the portable tensor IR.
  stored,
};

struct ConstantParams {
  ConstantForm form = ConstantForm::widened;

  static constexpr std::uint8_t version = 2;
  static constexpr auto fields = field_list(Member{&ConstantParams::form, "form"});
};

/// Reads a weight as a value of its shape (PTIR `Constant`). Elements lie row-major and little-endian,
/// two 4-bit ones to a byte across the ends of rows.
///
/// Source: portable tensor IR, operation reference.
struct Constant {
  using Params = ConstantParams;
  static constexpr Opcode opcode{64};
  static constexpr std::string_view name = "constant";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = kNoRoles;
  static constexpr auto output_roles = std::to_array({Role{"value"}});
  static constexpr auto weight_roles = std::to_array({Role{"literal"}});
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;
  static constexpr auto attributes = attribute_list(attribute::apart("value", AttributeKind::literal));

  static constexpr Result<void> infer(const TypeCall<Constant>& c, OutputTypes<Constant>& out) noexcept {
    if (!c.w[0].present()) return fail(Errc::missing_weight, "constant: weight literal is not bound");
    if (c.params.form > ConstantForm::stored) return bad_params<Constant>("form is not known");
    const DType stored = c.w[0].dtype;
    const bool widened = c.params.form == ConstantForm::widened && quant::facts(stored) != nullptr;
    if (!widened && is_block(stored))
      return fail(Errc::unsupported_weight_type, "constant: ", zrt::name(stored), " is not read as ",
                  c.params.form == ConstantForm::stored ? "it is stored" : "f32 in this build");
    if (!whole_blocks(stored, c.w[0].shape))
      return bad_shape<Constant>("literal", "constant extents and rows of whole blocks", c.w[0].shape);
    out[0] = {widened ? DType::f32 : stored, c.w[0].shape};
    return {};
  }

  static void reference(const HostCall<Constant>& c, const ExecutionContext& step, const Worker&) noexcept {
    const HostWeight& w = c.w[0];
    if (c.out[0].type.dtype == w.dtype) {
      const std::uint64_t bytes = bytes_of(w.dtype, c.out[0].elements(step));
      if (bytes != 0) std::memcpy(c.out[0].data, w.data, bytes);
      return;
    }
    const quant::RowFunctions* type = quant::find(w.dtype);
    for (std::uint64_t row = 0; row < w.rows; ++row)
      type->dequantise(w.row(row), w.cols, c.out[0].as<float>() + row * w.cols);
  }

  static constexpr Gradient gradient = Gradient::stops();

  /// A constant is data and no code: a table of its own.
  template <class E> static void emit_c(E&, const Call<E, Constant>&) noexcept {}
};
static_assert(Op<Constant>);

}  // namespace zrt::inline ZRT_ABI::ops
