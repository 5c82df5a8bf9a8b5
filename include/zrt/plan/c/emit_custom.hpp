// SPDX-License-Identifier: Apache-2.0
// zrt/plan/c/emit_custom.hpp: calls of the kernels of ONNX's operators in C; those of other hosts have no form.
#pragma once

#include <zrt/ir/onnx/targets.hpp>
#include <zrt/plan/c/emit.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::plan::c {

/// A call of a known target whose operands, results and attributes its check has taken.
struct CustomText {
  Context& f;
  const EmitCall<ops::CustomCall>& call;
  ops::CustomAttributes attributes;

  [[nodiscard]] const Tensor& in(std::size_t i) const noexcept { return call.in[i]; }
  [[nodiscard]] const Tensor& out() const noexcept { return call.out[0]; }
  [[nodiscard]] bool boolean(std::string_view key) const noexcept { return attributes.find(key)->boolean(); }
  [[nodiscard]] std::string_view flag(std::string_view key) const noexcept { return boolean(key) ? "1" : "0"; }
};

/// How a target is written, where its result has elements, with `static void emit(const CustomText&) noexcept`; one for each of ir::onnx::Targets.
template <class T> struct CustomForm;

/// An f64 of an f64 x in C.
template <class F> inline constexpr std::string_view kRealForm{};

template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Sin> = "sin(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Cos> = "cos(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Tan> = "tan(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Asin> = "asin(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Acos> = "acos(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Atan> = "atan(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Sinh> = "sinh(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Cosh> = "cosh(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Asinh> = "asinh(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Acosh> = "acosh(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Atanh> = "atanh(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Sqrt> = "sqrt(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Floor> = "floor(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Ceil> = "ceil(x)";
template <> inline constexpr std::string_view kRealForm<ir::onnx::kernels::Round> = "nearbyint(x)";

template <class F>
  requires(!kRealForm<F>.empty())
struct CustomForm<ir::onnx::FloatUnary<F>> {
  static void emit(const CustomText& t) noexcept {
    const Tensor& y = t.out();
    t.f.w.loop({"i"}, y.elements());
    t.f.w.line({"const double x = ", load(t.in(0), {"i"}), ";"});
    store(t.f.w, y, {"i"}, y.dtype() == DType::f64 ? Expr{kRealForm<F>} : Expr{"(float)", kRealForm<F>});
    t.f.w.close();
  }
};

/// x and y in C, by the domain of both: f32, f64, i64, u64.
template <class F> inline constexpr std::array<std::string_view, 4> kPairForms{};

template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::Mod>{
    "zrt_mod_f32(x, y)", "zrt_mod_f64(x, y)", "zrt_mod_i64(x, y, &status)", "zrt_mod_u64(x, y, &status)"};
template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::Fmod>{
    "(float)fmod(x, y)", "fmod(x, y)", "zrt_fmod_i64(x, y, &status)", "zrt_mod_u64(x, y, &status)"};
template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::ShiftLeft>{
    "((void)y, x)", "((void)y, x)", "(uint64_t)y > 63 ? 0 : (int64_t)((uint64_t)x << (uint64_t)y)",
    "y > 63 ? 0 : x << y"};
template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::ShiftRight>{
    "((void)y, x)", "((void)y, x)", "(uint64_t)y > 63 ? 0 : (int64_t)((uint64_t)x >> (uint64_t)y)",
    "y > 63 ? 0 : x >> y"};

template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::BitAnd>{"((void)y, x)", "((void)y, x)",
                                                                                       "x & y", "x & y"};
template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::BitOr>{"((void)y, x)", "((void)y, x)",
                                                                                      "x | y", "x | y"};
template <>
inline constexpr std::array<std::string_view, 4> kPairForms<ir::onnx::kernels::BitXor>{"((void)y, x)", "((void)y, x)",
                                                                                       "x ^ y", "x ^ y"};

template <class F>
  requires(!kPairForms<F>[3].empty())
struct CustomForm<ir::onnx::SameBinary<F>> {
  static void emit(const CustomText& t) noexcept {
    const Tensor& out = t.out();
    const Domain domain = domain_of(out.dtype());
    t.f.w.loop({"i"}, out.elements());
    t.f.w.line({"const ", c_type(domain), " x = ", load(t.in(0), {"i"}), ";"});
    t.f.w.line({"const ", c_type(domain), " y = ", load(t.in(1), {"i"}), ";"});
    store(t.f.w, out, {"i"}, {kPairForms<F>[static_cast<std::size_t>(domain)]});
    t.f.w.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::Pow> {
  static void emit(const CustomText& t) noexcept {
    const DType base = t.in(0).dtype();
    const bool whole = !is_float(base) && !is_float(t.in(1).dtype());
    const DType as = whole ? DType::si64 : DType::f64;
    t.f.w.loop({"i"}, t.out().elements());
    t.f.w.line({"const ", c_type(as), " x = ", load_as(t.in(0), {"i"}, as), ";"});
    t.f.w.line({"const ", c_type(as), " y = ", load_as(t.in(1), {"i"}, as), ";"});
    t.f.w.line({"const ", c_type(as), " power = ", whole ? "zrt_pow_i64" : "zrt_pow_f64", "(x, y);"});
    // Whole numbers wrap, where a cast would saturate.
    store(t.f.w, t.out(), {"i"}, whole ? Expr{"(", c_type(base), ")power"} : cast({"power"}, DType::f64, base));
    t.f.w.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::Classify> {
  static void emit(const CustomText& t) noexcept {
    t.f.w.loop({"i"}, t.out().elements());
    t.f.w.line({"const ", c_type(t.in(0).dtype()), " x = ", load(t.in(0), {"i"}), ";"});
    t.f.w.line({"uint64_t is = 0;"});
    t.f.w.line({"(void)x;"});
    if (t.boolean("nan")) t.f.w.line({"is |= x != x;"});
    if (t.boolean("positive")) t.f.w.line({"is |= x == INFINITY;"});
    if (t.boolean("negative")) t.f.w.line({"is |= x == -INFINITY;"});
    store(t.f.w, t.out(), {"i"}, {"is"});
    t.f.w.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::RowProduct> {
  static void emit(const CustomText& t) noexcept {
    const Tensor& x = t.in(0);
    const Domain domain = domain_of(x.dtype());
    const std::uint64_t n = x.type.shape[1].extent;
    const std::string_view sum = domain == Domain::i64 ? "uint64_t" : c_type(domain);
    t.f.w.loop({"row"}, t.out().elements());
    t.f.w.line({sum, " product = 1;"});
    t.f.w.loop({"i"}, n);
    t.f.w.line({"product *= ", domain == Domain::i64 ? "(uint64_t)" : "", load(x, {"row * ", n, " + i"}), ";"});
    t.f.w.close();
    store(t.f.w, t.out(), {"row"}, {"(", c_type(domain), ")product"});
    t.f.w.close();
  }
};

template <bool kProduct> struct CustomForm<ir::onnx::kernels::Cumulative<kProduct>> {
  static void emit(const CustomText& t) noexcept {
    const Tensor& x = t.in(0);
    const Domain domain = domain_of(x.dtype());
    const std::uint64_t n = x.type.shape[1].extent;
    const std::uint64_t inner = x.type.shape[2].extent;
    const std::string_view type = domain == Domain::i64 ? "uint64_t" : c_type(domain);
    const Expr place = t.boolean("reverse") ? Expr{n, " - 1 - i"} : Expr{"i"};
    t.f.w.loop({"o"}, x.type.shape[0].extent);
    t.f.w.loop({"r"}, inner);
    t.f.w.line({type, kProduct ? " sum = 1;" : " sum = 0;"});
    t.f.w.loop({"i"}, n);
    t.f.w.line({"const uint64_t at = (o * ", n, " + ", place, ") * ", inner, " + r;"});
    t.f.w.line({"const ", type, " before = sum;"});
    t.f.w.line({"(void)before;"});
    t.f.w.line({kProduct ? "sum *= " : "sum += ", domain == Domain::i64 ? "(uint64_t)" : "", load(x, {"at"}), ";"});
    store(t.f.w, t.out(), {"at"}, {"(", c_type(domain), ")", t.boolean("exclusive") ? "before" : "sum"});
    t.f.w.close();
    t.f.w.close();
    t.f.w.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::BitCast> {
  static void emit(const CustomText& t) noexcept {
    const std::uint64_t bytes = t.out().elements() * info(t.out().dtype()).block_bytes;
    t.f.w.line({"memcpy(", t.out().pointer(), ", ", t.in(0).pointer(), ", ", bytes, ");"});
  }
};

template <> struct CustomForm<ir::onnx::kernels::MaxPlace> {
  static void emit(const CustomText& t) noexcept {
    const Shape& xs = t.in(0).type.shape;
    const Shape& ys = t.out().type.shape;
    const unsigned spatial = xs.rank - 2u;
    const Domain domain = domain_of(t.in(0).dtype());
    std::uint64_t plane = 1;
    std::uint64_t places = 1;
    for (unsigned i = 0; i < spatial; ++i) plane *= xs[i + 2].extent, places *= ys[i + 2].extent;
    Source& w = t.f.w;
    const auto number = [&](std::string_view key, unsigned axis) {
      return static_cast<std::uint64_t>(t.attributes.find(key)->integer(axis));
    };
    w.loop({"i"}, t.out().elements());
    w.line({"const uint64_t base = i / ", places, " * ", plane, ";"});
    w.line({"int64_t best = -1;"});
    w.line({c_type(domain), " most = 0;"});
    std::uint64_t stride = places;
    for (unsigned axis = 0; axis < spatial; ++axis) {
      const std::uint64_t extent = ys[axis + 2].extent;
      stride /= extent;
      w.loop({"k", axis}, number("size", axis));
      w.line({"const int64_t x", axis, " = (int64_t)(i / ", stride, " % ", extent, " * ", number("strides", axis),
              " + k", axis, " * ", number("dilations", axis), ") - ", number("low", axis), ";"});
      w.line({"if (x", axis, " < 0 || x", axis, " >= ", xs[axis + 2].extent, ") continue;"});
    }
    Expr at{"0"};
    Expr column{"0"};
    std::uint64_t fast = 1;
    for (unsigned axis = 0; axis < spatial; ++axis) {
      std::uint64_t slow = 1;
      for (unsigned inner = axis + 1; inner < spatial; ++inner) slow *= xs[inner + 2].extent;
      at.append({" + (uint64_t)x", axis, " * ", slow});
      column.append({" + (uint64_t)x", axis, " * ", fast});
      fast *= xs[axis + 2].extent;
    }
    w.line({"const ", c_type(domain), " x = ", load(t.in(0), {"base + ", at}), ";"});
    w.line({"if (best >= 0 && !(x > most)) continue;"});
    w.line({"most = x;"});
    w.line({"best = (int64_t)(base + ", t.boolean("column_major") ? column : at, ");"});
    for (unsigned axis = 0; axis < spatial; ++axis) w.close();
    store(w, t.out(), {"i"}, {"best"});
    w.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::Determinant> {
  static void emit(const CustomText& t) noexcept {
    const std::uint64_t n = t.in(0).type.shape[1].extent;
    t.f.w.loop({"k"}, t.out().elements());
    t.f.w.loop({"i"}, n * n);
    store(t.f.w, DType::f64, t.f.scratch, {"i"}, load_as(t.in(0), {"k * ", n * n, " + i"}, DType::f64));
    t.f.w.close();
    store(t.f.w, t.out(), {"k"}, cast({"zrt_det(", t.f.scratch, ", ", n, ")"}, DType::f64, t.out().dtype()));
    t.f.w.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::RoiAlign> {
  static void emit(const CustomText& t) noexcept {
    const Shape& xs = t.in(0).type.shape;
    const Shape& ys = t.out().type.shape;
    const std::uint64_t h = xs[2].extent;
    const std::uint64_t w = xs[3].extent;
    const std::int64_t fixed = t.attributes.find("samples")->integer();
    const bool half = t.boolean("half_pixel");
    const bool maximum = t.boolean("maximum");
    Source& out = t.f.w;
    out.loop({"i"}, t.out().elements());
    out.line({"const uint64_t column = i % ", ys[3].extent, ", row = i / ", ys[3].extent, " % ", ys[2].extent, ";"});
    out.line({"const uint64_t channel = i / ", std::uint64_t{ys[3].extent} * ys[2].extent, " % ", ys[1].extent, ";"});
    out.line({"const uint64_t roi = i / ", std::uint64_t{ys[3].extent} * ys[2].extent * ys[1].extent, ";"});
    out.line({"const uint64_t batch = ", load_index(t.in(2), {"roi"}), ";"});
    out.open({"if (", below("batch", xs[0].extent), ")"});
    out.line({"const uint64_t plane = (batch * ", xs[1].extent, " + channel) * ", h * w, ";"});
    out.line({"double corner[4];"});
    out.line({"double sum = 0;"});
    out.line({"int first = 1;"});
    out.loop({"k"}, 4);
    out.line({"corner[k] = ", load(t.in(1), {"roi * 4 + k"}), " * ", literal(t.attributes.find("scale")->real()), " - ",
              half ? "0.5" : "0.0", ";"});
    out.close();
    const auto side = [&](std::string_view name, std::string_view from, std::string_view to, std::uint64_t bins) {
      const Expr length{"(corner[", to, "] - corner[", from, "])"};
      out.line({"const double ", name, " = ", half ? length : Expr{"(", length, " > 1 ? ", length, " : 1)"}, " / ",
                bins, ";"});
    };
    side("wide", "0", "2", ys[3].extent);
    side("high", "1", "3", ys[2].extent);
    const auto samples = [&](std::string_view bin, std::uint64_t extent) {
      return fixed > 0 ? literal(fixed) : Expr{"zrt_roi_samples(", bin, ", ", extent, ")"};
    };
    out.line({"const int64_t across = ", samples("wide", w), ", down = ", samples("high", h), ";"});
    out.open({"for (int64_t j = 0; j < down; ++j)"});
    out.open({"for (int64_t k = 0; k < across; ++k)"});
    out.line({"const double y = corner[1] + (((double)j + 0.5) / (double)down + (double)row) * high;"});
    out.line({"const double x = corner[0] + (((double)k + 0.5) / (double)across + (double)column) * wide;"});
    out.line({"const double value = zrt_roi_sample_", name(t.in(0).dtype()), "(", t.in(0).pointer(), ", plane, y, x, ",
              h, ", ", w, ", ", maximum ? "1" : "0", ");"});
    out.line({maximum ? "sum = first || value > sum ? value : sum;" : "sum += value;"});
    out.line({"first = 0;"});
    out.close();
    out.close();
    out.line({"(void)first;"});
    if (!maximum) out.line({"sum /= (double)(across * down);"});
    store(out, t.out(), {"i"}, cast({"sum"}, DType::f64, t.out().dtype()));
    out.close();
    out.open({"else"});
    t.f.fail();
    out.close();
    out.close();
  }
};

template <> struct CustomForm<ir::onnx::kernels::GridSample> {
  static void emit(const CustomText& t) noexcept {
    const Shape& xs = t.in(0).type.shape;
    const Shape& ys = t.out().type.shape;
    const std::uint64_t h = xs[2].extent;
    const std::uint64_t w = xs[3].extent;
    const std::uint64_t places = std::uint64_t{ys[2].extent} * ys[3].extent;
    const std::string_view mode = t.attributes.find("mode")->text();
    const std::string_view padding = t.attributes.find("padding")->text();
    const std::string_view aligned = t.flag("align_corners");
    // In the numbers of zrt_grid_place; other words pad as zeros do, but stay inside.
    const std::string_view number = padding == "zeros"        ? "0"
                                    : padding == "border"     ? "1"
                                    : padding == "reflection" ? "2"
                                                              : "3";
    Source& out = t.f.w;
    const auto pixel = [&](std::string_view row, std::string_view column) {
      return Expr{"zrt_grid_pixel_",
                  name(t.in(0).dtype()),
                  "(",
                  t.in(0).pointer(),
                  ", plane, ",
                  row,
                  ", ",
                  column,
                  ", ",
                  h,
                  ", ",
                  w,
                  ", ",
                  aligned,
                  ", ",
                  number,
                  ")"};
    };
    out.loop({"i"}, t.out().elements());
    out.line({"const uint64_t plane = i / ", places, ";"});
    out.line({"const uint64_t at = (plane / ", xs[1].extent, " * ", places, " + i % ", places, ") * 2;"});
    const auto place = [&](std::string_view name, std::string_view at, std::uint64_t extent) {
      out.line({"const double ", name, " = zrt_grid_place(", load(t.in(1), {at}), ", ", extent, ", ", aligned, ", ",
                number, ");"});
    };
    place("x", "at", w);
    place("y", "at + 1", h);
    if (mode == "nearest") {
      out.line({"const double value = ", pixel("nearbyint(y)", "nearbyint(x)"), ";"});
    } else {
      out.line({"const double top = floor(y), left = floor(x);"});
      out.line({"double value = 0, down[4], across[4];"});
      for (const auto& [line, list] : {std::pair("y - top", "down"), std::pair("x - left", "across")})
        out.line({"zrt_grid_weights(", line, ", ", mode == "bicubic" ? "1" : "0", ", ", list, ");"});
      out.open({"for (int j = 0; j < 4; ++j)"});
      out.open({"for (int k = 0; k < 4; ++k)"});
      out.line({"const double weight = down[j] * across[k];"});
      out.line({"if (weight != 0) value = fma(weight, ", pixel("top + j - 1", "left + k - 1"), ", value);"});
      out.close();
      out.close();
    }
    store(out, t.out(), {"i"}, cast({"value"}, DType::f64, t.out().dtype()));
    out.close();
  }
};

}  // namespace zrt::inline ZRT_ABI::plan::c

ZRT_LOAD_TIME_END
