// SPDX-License-Identifier: Apache-2.0
// zrt/ops/compare.hpp: a truth value for every pair of elements.
#pragma once

#include <zrt/core/map_elements.hpp>
#include <zrt/ops/attributes.hpp>

namespace zrt::inline ZRT_ABI::ops {

enum class CompareKind : std::uint8_t { lt, le, eq, ge, gt, ne };
/// As programs name them.
inline constexpr auto kCompareNames = std::to_array<std::string_view>({"lt", "le", "eq", "ge", "gt", "ne"});
inline constexpr std::uint8_t kCompareKinds = kCompareNames.size();

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

  static constexpr auto attributes = attribute_list(attribute::choice("op", &Params::kind, kCompareNames));

  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    const auto kind = c.template choice<CompareKind>(at<Compare>("op"));
    const auto shape = c.same_type(0, 1);
    if (!shape) return pass(shape);
    if (is_complex(c.in[0].dtype) && kind != CompareKind::eq && kind != CompareKind::ne)
      return c.wrong(Errc::dtype_mismatch, 0, "a dtype that has an order");
    if (auto r = c.computed(0); !r) return r;
    return c.give(DType::i1, *shape);
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

  static constexpr Gradient gradient = Gradient::stops();

  template <class E> static void emit_c(E& f, const Call<E, Compare>& c) noexcept {
    // In the order of CompareKind.
    static constexpr auto kSigns = std::to_array<std::string_view>({" < ", " <= ", " == ", " >= ", " > ", " != "});
    static_assert(kSigns.size() == kCompareKinds);
    f.w.loop({"i"}, c.out[0].elements());
    store(f.w, c.out[0], {"i"},
          {load(c.in[0], {"i"}), kSigns[static_cast<std::size_t>(c.params.kind)], load(c.in[1], {"i"})});
    f.w.close();
  }
};
static_assert(Op<Compare>);

}  // namespace zrt::inline ZRT_ABI::ops
