// SPDX-License-Identifier: Apache-2.0
// zrt/ops/elementwise_binary.hpp: one function of two tensors of the same shape.
#pragma once

#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

enum class BinaryKind : std::uint8_t { add, sub, mul, div, maximum, minimum };
inline constexpr std::uint8_t kBinaryKinds = 6;

struct ElementwiseBinaryParams {
  BinaryKind kind = BinaryKind::add;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ElementwiseBinaryParams::kind, "kind"});
};

/// y[i] = f(a[i], b[i]) for f32; maximum and minimum give NaN where either operand is NaN.
struct ElementwiseBinary {
  using Params = ElementwiseBinaryParams;
  static constexpr Opcode opcode{66};
  static constexpr std::string_view name = "elementwise_binary";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"lhs"}, Role{"rhs"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}, Alias{0, 1}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<ElementwiseBinary>& c,
                                      OutputTypes<ElementwiseBinary>& out) noexcept {
    if (auto r = expect_input<ElementwiseBinary>(c.in[0], "lhs", DType::f32, 0); !r) return r;
    if (auto r = expect_input<ElementwiseBinary>(c.in[1], "rhs", DType::f32, 0); !r) return r;
    if (!(c.in[0].type.shape == c.in[1].type.shape))
      return bad_shape<ElementwiseBinary>("rhs", "the shape of lhs", c.in[1].type.shape);
    if (static_cast<std::uint8_t>(c.params.kind) >= kBinaryKinds)
      return bad_params<ElementwiseBinary>("kind is not known");
    out[0] = c.in[0].type;
    return {};
  }

  [[nodiscard]] static float apply(BinaryKind kind, float a, float b) noexcept {
    switch (kind) {
      case BinaryKind::add:
        return a + b;
      case BinaryKind::sub:
        return a - b;
      case BinaryKind::mul:
        return a * b;
      case BinaryKind::div:
        return a / b;
      case BinaryKind::maximum:
        return a != a ? a : (b > a || b != b ? b : a);
      case BinaryKind::minimum:
        return a != a ? a : (b < a || b != b ? b : a);
    }
    return a;
  }

  static void reference(const HostCall<ElementwiseBinary>& c, const ExecutionContext& step, const Worker&) noexcept {
    const float* a = c.in[0].as<float>();
    const float* b = c.in[1].as<float>();
    float* y = c.out[0].as<float>();
    for (std::uint64_t i = 0; i < c.in[0].elements(step); ++i) y[i] = apply(c.params.kind, a[i], b[i]);
  }
};
static_assert(Op<ElementwiseBinary>);

}  // namespace zrt::inline ZRT_ABI::ops
