// SPDX-License-Identifier: Apache-2.0
// zrt/ops/compare.hpp: a truth value for every pair of elements.
#pragma once

#include <zrt/core/map_elements.hpp>
#include <zrt/ops/shape_rule.hpp>

namespace zrt::inline ZRT_ABI::ops {

enum class CompareKind : std::uint8_t { lt, le, eq, ge, gt, ne };
inline constexpr std::uint8_t kCompareKinds = 6;

struct CompareParams {
  CompareKind kind = CompareKind::lt;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&CompareParams::kind, "kind"});
};

/// y[i] = lhs[i] < rhs[i], or another comparison, as i1 (PTIR `Compare`). With a NaN ne is true and all
/// others are false; zeros of either sign are equal.
struct Compare {
  using Params = CompareParams;
  static constexpr Opcode opcode{67};
  static constexpr std::string_view name = "compare";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"lhs"}, Role{"rhs"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = kNoAlias;
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr Result<void> infer(const TypeCall<Compare>& c, OutputTypes<Compare>& out) noexcept {
    const CompareKind kind = c.params.kind;
    if (static_cast<std::uint8_t>(kind) >= kCompareKinds) return bad_params<Compare>("kind is not known");
    if (auto r = expect_plain<Compare>(c.in[0], "lhs"); !r) return r;
    const TensorType& lhs = c.in[0].type;
    if (auto r = expect_same_dtype<Compare>(c.in[1], "rhs", lhs.dtype, "lhs"); !r) return r;
    if (!(lhs.shape == c.in[1].type.shape)) return bad_shape<Compare>("rhs", "the shape of lhs", c.in[1].type.shape);
    if (kind != CompareKind::eq && kind != CompareKind::ne && is_complex(lhs.dtype))
      return bad_dtype<Compare>("lhs", "a type with an order", lhs.dtype);
    if (auto r = expect_computed<Compare>(c.in[0], "lhs"); !r) return r;
    out[0] = {DType::i1, lhs.shape};
    return {};
  }

  template <DomainValue T> [[nodiscard]] static bool apply(CompareKind kind, T a, T b) noexcept {
    switch (kind) {
      case CompareKind::lt:
        return a < b;
      case CompareKind::le:
        return a <= b;
      case CompareKind::eq:
        return a == b;
      case CompareKind::ge:
        return a >= b;
      case CompareKind::gt:
        return a > b;
      case CompareKind::ne:
        return a != b;
    }
    return false;
  }

  static void reference(const HostCall<Compare>& c, const ExecutionContext& step, const Worker&) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      map_elements<T, std::uint64_t>(
          dtype, DType::i1, c.out[0].data, c.in[0].elements(step),
          [&](T a, T b) { return std::uint64_t{apply(c.params.kind, a, b)}; }, c.in[0].data, c.in[1].data);
    });
  }
};
static_assert(Op<Compare>);

}  // namespace zrt::inline ZRT_ABI::ops
