// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_elementwise.hpp: constants and ops on single elements in C.
#pragma once

#include <zrt/ops/cast.hpp>
#include <zrt/ops/compare.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>
#include <zrt/ops/iota.hpp>
#include <zrt/ops/select.hpp>
#include <zrt/plan/c/emit.hpp>

namespace zrt::inline ZRT_ABI::plan::c {

template <> struct Emit<ops::ElementwiseUnary> {
  static void emit(Context& f, const EmitCall<ops::ElementwiseUnary>& c) noexcept {
    // In the order of UnaryKind.
    static constexpr auto kF32 =
        std::to_array<std::string_view>({"-x", "fabsf(x)", "expf(x)", "logf(x)", "tanhf(x)", "erff(x)",
                                         "1.0f / sqrtf(x)", "1.0f / x", "sinf(x)", "cosf(x)"});
    static constexpr auto kF64 = std::to_array<std::string_view>(
        {"-x", "fabs(x)", "exp(x)", "log(x)", "tanh(x)", "erf(x)", "1.0 / sqrt(x)", "1.0 / x", "sin(x)", "cos(x)"});
    static constexpr auto kI64 =
        std::to_array<std::string_view>({"(int64_t)(0u - (uint64_t)x)", "x < 0 ? (int64_t)(0u - (uint64_t)x) : x"});
    static constexpr auto kU64 = std::to_array<std::string_view>({"0u - x", "x"});
    static_assert(kF32.size() == ops::kUnaryKinds && kF64.size() == ops::kUnaryKinds);
    const std::array<const std::string_view*, 4> forms{kF32.data(), kF64.data(), kI64.data(), kU64.data()};
    const Domain domain = domain_of(c.in[0].dtype());
    f.w.loop({"i"}, c.out[0].elements());
    f.w.line({"const ", c_type(domain), " x = ", load(c.in[0], {"i"}), ";"});
    store(f.w, c.out[0], {"i"}, {forms[static_cast<std::size_t>(domain)][static_cast<std::size_t>(c.params.kind)]});
    f.w.close();
  }
};

template <> struct Emit<ops::ElementwiseBinary> {
  static void emit(Context& f, const EmitCall<ops::ElementwiseBinary>& c) noexcept {
    // In the order of BinaryKind.
    static constexpr auto kFloats =
        std::to_array<std::string_view>({"x + y", "x - y", "x * y", "x / y", "x != x ? x : y > x || y != y ? y : x",
                                         "x != x ? x : y < x || y != y ? y : x"});
    static constexpr auto kI64 = std::to_array<std::string_view>(
        {"(int64_t)((uint64_t)x + (uint64_t)y)", "(int64_t)((uint64_t)x - (uint64_t)y)",
         "(int64_t)((uint64_t)x * (uint64_t)y)", "zrt_div_i64(x, y, &status)", "y > x ? y : x", "y < x ? y : x"});
    static constexpr auto kU64 = std::to_array<std::string_view>(
        {"x + y", "x - y", "x * y", "zrt_div_u64(x, y, &status)", "y > x ? y : x", "y < x ? y : x"});
    static_assert(kFloats.size() == ops::kBinaryKinds && kI64.size() == ops::kBinaryKinds);
    const Domain domain = domain_of(c.in[0].dtype());
    const auto& forms = domain == Domain::i64 ? kI64 : domain == Domain::u64 ? kU64 : kFloats;
    f.w.loop({"i"}, c.out[0].elements());
    f.w.line({"const ", c_type(domain), " x = ", load(c.in[0], {"i"}), ";"});
    f.w.line({"const ", c_type(domain), " y = ", load(c.in[1], {"i"}), ";"});
    store(f.w, c.out[0], {"i"}, {forms[static_cast<std::size_t>(c.params.kind)]});
    f.w.close();
  }
};

template <> struct Emit<ops::Compare> {
  static void emit(Context& f, const EmitCall<ops::Compare>& c) noexcept {
    // In the order of CompareKind.
    static constexpr auto kSigns = std::to_array<std::string_view>({" < ", " <= ", " == ", " >= ", " > ", " != "});
    static_assert(kSigns.size() == ops::kCompareKinds);
    f.w.loop({"i"}, c.out[0].elements());
    store(f.w, c.out[0], {"i"},
          {load(c.in[0], {"i"}), kSigns[static_cast<std::size_t>(c.params.kind)], load(c.in[1], {"i"})});
    f.w.close();
  }
};

template <> struct Emit<ops::Select> {
  static void emit(Context& f, const EmitCall<ops::Select>& c) noexcept {
    const Tensor& y = c.out[0];
    if (c.in[1].place == y.place && c.in[2].place == y.place) return;
    f.w.loop({"i"}, y.elements());
    // The predicate may lie where the result goes, so that it is read once.
    f.w.line({"const uint64_t chosen = ", load(c.in[0], {"i"}), ";"});
    // What lies where it shall go already is left there.
    const auto one = [&](std::size_t in, std::string_view test) {
      if (c.in[in].place == y.place) return;
      f.w.open({"if (chosen ", test, " 0)"});
      copy(f.w, y.dtype(), y.pointer(), {"i"}, c.in[in].pointer(), {"i"}, {"1"});
      f.w.close();
    };
    one(1, "!=");
    one(2, "==");
    f.w.close();
  }
};

template <> struct Emit<ops::Cast> {
  static void emit(Context& f, const EmitCall<ops::Cast>& c) noexcept {
    const DType from = c.in[0].dtype();
    // A float keeps every bit, those of a NaN too.
    if (from == c.params.dtype && is_float(from)) return copy_whole(f.w, c.in[0], c.out[0]);
    f.w.loop({"i"}, c.out[0].elements());
    f.w.line({"const ", c_type(from), " x = ", load(c.in[0], {"i"}), ";"});
    store(f.w, c.out[0], {"i"}, cast({"x"}, from, c.params.dtype));
    f.w.close();
  }
};

template <> struct Emit<ops::Iota> {
  static void emit(Context& f, const EmitCall<ops::Iota>& c) noexcept {
    const Tensor& y = c.out[0];
    const ops::AxisSplit split = y.split(c.params.axis);
    if (y.elements() == 0) return;
    f.w.loop({"i"}, y.elements());
    f.w.line({"const uint64_t n = i / ", split.inner, " % ", split.extent, ";"});
    // Integers wrap, where a cast would saturate.
    const Expr value = is_float(y.dtype()) ? cast({"n"}, DType::ui64, y.dtype()) : Expr{"(", c_type(y.dtype()), ")n"};
    store(f.w, y, {"i"}, value);
    f.w.close();
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c
