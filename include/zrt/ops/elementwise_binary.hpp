// SPDX-License-Identifier: Apache-2.0
// zrt/ops/elementwise_binary.hpp: one function of two tensors of the same shape.
#pragma once

#include <zrt/core/elementary.hpp>
#include <zrt/core/map_elements.hpp>
#include <zrt/ops/accumulate.hpp>
#include <zrt/ops/attributes.hpp>
#include <zrt/ops/data_fault.hpp>

namespace zrt::inline ZRT_ABI::ops {

/// PTIR's six kinds; pow, of floats that are computed in f32, is zrt's own.
enum class BinaryKind : std::uint8_t { add, sub, mul, div, maximum, minimum, pow };
inline constexpr std::uint8_t kBinaryKinds = 7;
/// As programs name them.
inline constexpr auto kBinaryNames =
    std::to_array<std::string_view>({"add", "sub", "mul", "div", "maximum", "minimum"});

struct ElementwiseBinaryParams {
  BinaryKind kind = BinaryKind::add;

  static constexpr std::uint8_t version = 1;
  static constexpr auto fields = field_list(Member{&ElementwiseBinaryParams::kind, "kind"});
};

/// y[i] = f(a[i], b[i]) (PTIR `ElementwiseBinary`) for every type of numbers; mul, maximum and minimum
/// for i1 too.
///
/// Floats narrower than f32 are computed in f32 and rounded once; maximum and minimum give NaN where
/// either operand is NaN, and a where the operands are equal. Integers wrap modulo 2^n; div truncates
/// toward zero. Integer division by zero is a violation of the step, and gives 0.
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

  static constexpr auto attributes = attribute_list(attribute::choice("op", &Params::kind, kBinaryNames, kBinaryKinds));

  /// On i1 only mul (and), maximum (or) and minimum (and); on complex numbers no maximum and minimum.
  template <class D> static constexpr Result<void> infer(RuleCall<D>& c) noexcept {
    constexpr std::size_t kOp = at<ElementwiseBinary>("op");
    const auto kind = c.template choice<BinaryKind>(kOp);
    const auto shape = c.same_type(0, 1);
    if (!shape) return pass(shape);
    const bool orders = kind == BinaryKind::maximum || kind == BinaryKind::minimum;
    const DType dtype = c.in[0].dtype;
    const bool no_power = kind == BinaryKind::pow && (!is_float(dtype) || dtype == DType::f64);
    if ((is_complex(dtype) && orders) || (is_boolean(dtype) && !orders && kind != BinaryKind::mul) || no_power)
      return c.wrong(Errc::dtype_mismatch, 0, "a dtype that ", c.chosen(kOp), " is defined for");
    if (auto r = c.computed(0); !r) return r;
    return c.give(dtype, *shape);
  }

  template <DomainValue T> [[nodiscard]] static T apply(BinaryKind kind, T a, T b, bool& divided_by_zero) noexcept {
    // Unsigned numbers wrap, and have the low bits of the signed ones.
    using U = std::conditional_t<std::integral<T>, std::uint64_t, T>;
    const auto x = static_cast<U>(a);
    const auto y = static_cast<U>(b);
    switch (kind) {
      case BinaryKind::add:
        return static_cast<T>(x + y);
      case BinaryKind::sub:
        return static_cast<T>(x - y);
      case BinaryKind::mul:
        return static_cast<T>(x * y);
      case BinaryKind::div:
        if constexpr (std::integral<T>) {
          if (b == 0) {
            divided_by_zero = true;
            return 0;
          }
          // The quotient of the lowest number and -1 wraps.
          if (std::is_signed_v<T> && b == static_cast<T>(-1)) return static_cast<T>(0 - x);
        }
        return a / b;
      case BinaryKind::maximum:
        return a != a ? a : (b > a || b != b ? b : a);
      case BinaryKind::minimum:
        return a != a ? a : (b < a || b != b ? b : a);
      case BinaryKind::pow:
        if constexpr (std::same_as<T, float>) return math::pow(a, b);
        break;
    }
    return a;
  }

  static void reference(const HostCall<ElementwiseBinary>& c, const ExecutionContext& step,
                        const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    bool divided_by_zero = false;
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      map_elements<T, T>(
          dtype, dtype, c.out[0].data, c.in[0].elements(step),
          [&](T a, T b) { return apply(c.params.kind, a, b, divided_by_zero); }, c.in[0].data, c.in[1].data);
    });
    if (divided_by_zero) step.violated(worker);
  }

  [[nodiscard]] static std::optional<DataFault> find_fault(const HostCall<ElementwiseBinary>& c,
                                                           const ExecutionContext& step) noexcept {
    std::optional<DataFault> found;
    const DType dtype = c.in[1].type.dtype;
    if (c.params.kind != BinaryKind::div || is_float(dtype) || is_complex(dtype)) return found;
    for_each_cast<std::int64_t>(dtype, c.in[1].data, c.in[1].elements(step), DType::si64,
                                [&](std::uint64_t i, std::int64_t divisor) {
                                  if (divisor == 0 && !found) found = DataFault{1, i, 0, 0, DataFault::Kind::divisor};
                                });
    return found;
  }

  /// Where maximum and minimum find equals, each gets half.
  template <class G> static void gradient(G& c) noexcept {
    auto& b = c.builder();
    const std::string_view op = c.choice("op");
    const auto g = c.cotangent();
    if (op == "add" || op == "sub") {
      if (c.wants(0)) c.give(0, g);
      if (c.wants(1)) c.give(1, op == "add" ? g : -g);
    } else if (op == "mul") {
      if (c.wants(0)) c.give(0, g * c.in(1));
      if (c.wants(1)) c.give(1, g * c.in(0));
    } else if (op == "div") {
      const auto share = g / c.in(1);
      if (c.wants(0)) c.give(0, share);
      if (c.wants(1)) c.give(1, -(share * c.out()));
    } else {
      const auto x = c.in(0), y = c.in(1), zero = b.scalar(g.dtype(), 0);
      const auto half = b.select(b.eq(x, y), g * 0.5, zero);
      const auto first = op == "maximum" ? b.gt(x, y) : b.lt(x, y);
      const auto second = op == "maximum" ? b.gt(y, x) : b.lt(y, x);
      if (c.wants(0)) c.give(0, b.select(first, g, half));
      if (c.wants(1)) c.give(1, b.select(second, g, half));
    }
  }

  template <class E> static void emit_c(E& f, const Call<E, ElementwiseBinary>& c) noexcept {
    // In the order of BinaryKind; integers have no pow, nor has f64.
    static constexpr auto kFloats =
        std::to_array<std::string_view>({"x + y", "x - y", "x * y", "x / y", "x != x ? x : y > x || y != y ? y : x",
                                         "x != x ? x : y < x || y != y ? y : x", "powf(x, y)"});
    static constexpr auto kI64 = std::to_array<std::string_view>(
        {"(int64_t)((uint64_t)x + (uint64_t)y)", "(int64_t)((uint64_t)x - (uint64_t)y)",
         "(int64_t)((uint64_t)x * (uint64_t)y)", "zrt_div_i64(x, y, &status)", "y > x ? y : x", "y < x ? y : x"});
    static constexpr auto kU64 = std::to_array<std::string_view>(
        {"x + y", "x - y", "x * y", "zrt_div_u64(x, y, &status)", "y > x ? y : x", "y < x ? y : x"});
    static_assert(kFloats.size() == kBinaryKinds && kI64.size() + 1 == kBinaryKinds && kU64.size() == kI64.size());
    const Domain domain = domain_of(c.in[0].dtype());
    const std::string_view* const forms = domain == Domain::i64   ? kI64.data()
                                          : domain == Domain::u64 ? kU64.data()
                                                                  : kFloats.data();
    f.w.loop({"i"}, c.out[0].elements());
    f.w.line({"const ", E::c_type(domain), " x = ", load(c.in[0], {"i"}), ";"});
    f.w.line({"const ", E::c_type(domain), " y = ", load(c.in[1], {"i"}), ";"});
    store(f.w, c.out[0], {"i"}, {forms[static_cast<std::size_t>(c.params.kind)]});
    f.w.close();
  }
};
static_assert(Op<ElementwiseBinary>);

}  // namespace zrt::inline ZRT_ABI::ops
