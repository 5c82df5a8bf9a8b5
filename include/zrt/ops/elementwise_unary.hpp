// SPDX-License-Identifier: Apache-2.0
// zrt/ops/elementwise_unary.hpp: one function applied to every element.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/core/elementary64.hpp>
#include <zrt/core/map_elements.hpp>
#include <zrt/ops/attributes.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// PTIR's eight kinds; sin and cos are zrt's own, so that rope has a form in primitives.
enum class UnaryKind : std::uint8_t { neg, abs, exp, log, tanh, erf, rsqrt, reciprocal, sin, cos };
inline constexpr std::uint8_t kUnaryKinds = 10;
/// As programs name them.
inline constexpr auto kUnaryNames =
    std::to_array<std::string_view>({"neg", "abs", "exp", "log", "tanh", "erf", "rsqrt", "reciprocal"});

struct ElementwiseUnaryParams {
  UnaryKind kind = UnaryKind::neg;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ElementwiseUnaryParams::kind, "kind"});
};

/// y[i] = f(x[i]) (PTIR `ElementwiseUnary`). neg and abs take every type of numbers, the others floats.
///
/// Floats narrower than f32 are computed in f32 and rounded once. Integers wrap: -x and |x| of the
/// lowest number are that number. rsqrt(x) is 1 / sqrt(x), both IEEE.
struct ElementwiseUnary {
  using Params = ElementwiseUnaryParams;
  static constexpr Opcode opcode{65};
  static constexpr std::string_view name = "elementwise_unary";
  static constexpr Rung rung = Rung::primitive;
  static constexpr auto input_roles = std::to_array({Role{"x"}});
  static constexpr auto output_roles = std::to_array({Role{"y"}});
  static constexpr auto weight_roles = kNoRoles;
  static constexpr auto may_alias = std::to_array({Alias{0, 0}});
  static constexpr StateLifecycle lifecycle = StateLifecycle::none;

  static constexpr auto attributes = attribute_list(attribute::choice("op", &Params::kind, kUnaryNames, kUnaryKinds));

  /// neg: not i1; abs: not i1, not complex; erf: floats; the others: floats, and in programs complex numbers.
  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr std::size_t kOp = at<ElementwiseUnary>("op");
    const auto kind = c.template choice<UnaryKind>(kOp);
    const DType dtype = c.in[0].dtype;
    const bool fits = kind == UnaryKind::neg   ? !is_boolean(dtype)
                      : kind == UnaryKind::abs ? !is_boolean(dtype) && !is_complex(dtype)
                      : kind == UnaryKind::erf ? is_float(dtype)
                                               : is_float(dtype) || is_complex(dtype);
    if (!fits) return c.wrong(Errc::dtype_mismatch, 0, "a dtype that ", c.chosen(kOp), " is defined for");
    if (auto r = c.computed(0); !r) return r;
    return c.give(c.in[0]);
  }

  template <std::floating_point T> [[nodiscard]] static T apply(UnaryKind kind, T x) noexcept {
    constexpr bool kWide = std::same_as<T, double>;
    switch (kind) {
      case UnaryKind::neg:
        return -x;
      case UnaryKind::abs:
        if constexpr (kWide)
          return __builtin_fabs(x);
        else
          return __builtin_fabsf(x);
      case UnaryKind::exp:
        if constexpr (kWide)
          return math::exp64(x);
        else
          return math::exp(x);
      case UnaryKind::log:
        if constexpr (kWide)
          return math::log64(x);
        else
          return math::log(x);
      case UnaryKind::tanh:
        if constexpr (kWide)
          return math::tanh64(x);
        else
          return math::tanh(x);
      case UnaryKind::erf:
        if constexpr (kWide)
          return math::erf64(x);
        else
          return math::erf(x);
      case UnaryKind::rsqrt:
        if constexpr (kWide)
          return 1.0 / __builtin_sqrt(x);
        else
          return 1.0f / __builtin_sqrtf(x);
      case UnaryKind::reciprocal:
        return T{1} / x;
      case UnaryKind::sin:
        if constexpr (kWide)
          return math::sin64(x);
        else
          return math::sin(x);
      case UnaryKind::cos:
        if constexpr (kWide)
          return math::cos64(x);
        else
          return math::cos(x);
    }
    return x;
  }
  /// neg, or abs.
  template <std::integral T> [[nodiscard]] static T apply(UnaryKind kind, T x) noexcept {
    const auto negated = static_cast<T>(0 - static_cast<std::uint64_t>(x));
    if constexpr (std::is_signed_v<T>)
      return kind == UnaryKind::neg || x < 0 ? negated : x;
    else
      return kind == UnaryKind::neg ? negated : x;
  }

  static void reference(const HostCall<ElementwiseUnary>& c, const ExecutionContext& step, const Worker&) noexcept {
    const DType dtype = c.in[0].type.dtype;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      map_elements<T, T>(
          dtype, dtype, c.out[0].data, c.in[0].elements(step), [&](T x) { return apply(c.params.kind, x); },
          c.in[0].data);
    });
  }

  /// The slope of abs at 0 is 0.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const std::string_view op = c.choice("op");
    const auto g = c.cotangent();
    if (op == "neg") return c.give(0, -g);
    if (op == "abs") {
      const auto x = c.in(0), zero = b.scalar(x.dtype(), 0);
      return c.give(0, b.select(b.gt(x, zero), g, b.select(b.lt(x, zero), -g, zero)));
    }
    if (op == "exp") return c.give(0, g * c.out());
    if (op == "log") return c.give(0, g / c.in(0));
    if (op == "tanh") return c.give(0, g * (b.scalar(g.dtype(), 1) - c.out() * c.out()));
    if (op == "erf") {
      constexpr double kTwoBySqrtPi = 0x1.20dd750429b6dp+0;
      const auto x = c.in(0);
      return c.give(0, g * (b.exp(-(x * x)) * kTwoBySqrtPi));
    }
    const auto y = c.out();
    if (op == "rsqrt") return c.give(0, g * (y * y * y * -0.5));
    if (op == "reciprocal") return c.give(0, -(g * (y * y)));
    c.unimplemented(op);
  }

  static constexpr float bound_in_c = kLibmBound;
  template <class E> static void emit_c(E& f, const Call<E, ElementwiseUnary>& c) noexcept {
    // In the order of UnaryKind.
    static constexpr auto kF32 =
        std::to_array<std::string_view>({"-x", "fabsf(x)", "expf(x)", "logf(x)", "tanhf(x)", "erff(x)",
                                         "1.0f / sqrtf(x)", "1.0f / x", "sinf(x)", "cosf(x)"});
    static constexpr auto kF64 = std::to_array<std::string_view>(
        {"-x", "fabs(x)", "exp(x)", "log(x)", "tanh(x)", "erf(x)", "1.0 / sqrt(x)", "1.0 / x", "sin(x)", "cos(x)"});
    static constexpr auto kI64 =
        std::to_array<std::string_view>({"(int64_t)(0u - (uint64_t)x)", "x < 0 ? (int64_t)(0u - (uint64_t)x) : x"});
    static constexpr auto kU64 = std::to_array<std::string_view>({"0u - x", "x"});
    static_assert(kF32.size() == kUnaryKinds && kF64.size() == kUnaryKinds);
    const std::array<const std::string_view*, 4> forms{kF32.data(), kF64.data(), kI64.data(), kU64.data()};
    const Domain domain = domain_of(c.in[0].dtype());
    f.w.loop({"i"}, c.out[0].elements());
    f.w.line({"const ", E::c_type(domain), " x = ", load(c.in[0], {"i"}), ";"});
    store(f.w, c.out[0], {"i"}, {forms[static_cast<std::size_t>(domain)][static_cast<std::size_t>(c.params.kind)]});
    f.w.close();
  }
};
static_assert(Op<ElementwiseUnary>);

}  // namespace zrt::inline ZRT_ABI::ops
