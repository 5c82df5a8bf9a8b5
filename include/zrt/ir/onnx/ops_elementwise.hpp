// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/ops_elementwise.hpp: element-wise operators: arithmetic, comparison, logic, activations, casts.
#pragma once

#include <zrt/core/slice.hpp>
#include <zrt/ir/onnx/emit.hpp>
#include <zrt/ir/onnx/kernels_elementwise.hpp>
#include <zrt/ir/onnx/known_numbers.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

template <Tensor (Builder::*F)(const Tensor&) noexcept> void unary(NodeCall& n) noexcept {
  n.out(0, (n.b().*F)(n.in(0)));
}
template <Tensor (Builder::*F)(Tensor, Tensor) noexcept> void binary(NodeCall& n) noexcept {
  n.out(0, (n.b().*F)(n.in(0), n.in(1)));
}
/// A scalar or a list of at most as many elements as an IntList has, known when the program is made.
[[nodiscard]] inline bool is_known_list(const Value& v, DType dtype = DType::si64) noexcept {
  return v.known && v.type.dtype == dtype && v.type.shape.size() <= 1 &&
         v.type.shape.constant_elements().raw() <= IntList::kCapacity;
}
/// The same, and of a few numbers that are known a known result.
template <Tensor (Builder::*F)(Tensor, Tensor) noexcept, KnownOp kOp> void arithmetic(NodeCall& n) noexcept {
  if constexpr (kOp == KnownOp::divide) n.b().origin_indices(ptir::Origins::Indices::as_given);
  if (!out_known_binary(n, kOp)) n.out_of_operands((n.b().*F)(n.in(0), n.in(1)));
}
/// Known whole numbers stay known.
inline void neg(NodeCall& n) noexcept {
  const Value v = n.value(0);
  if (!is_known_list(v)) return unary<&Builder::neg>(n);
  IntList list = n.ints_in(0, "x");
  for (std::size_t i = 0; i < list.size(); ++i)
    list[i] = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(list[i]));
  n.out_integers(0, list.view(), v.type.shape.size() == 0);
}
/// Any number of operands, from the left; of two that are a few known numbers a known result.
template <Tensor (Builder::*F)(Tensor, Tensor) noexcept, KnownOp kOp> void variadic(NodeCall& n) noexcept {
  if (n.inputs() == 2) return arithmetic<F, kOp>(n);
  Tensor all = n.in(0);
  for (std::size_t i = 1; i < n.inputs(); ++i) all = (n.b().*F)(all, n.in(i));
  n.out(0, all);
}
/// A float function of the ONNX targets.
template <class F> void kernel_unary(NodeCall& n) noexcept {
  if (out_known_unary(n, &F::Function::apply)) return;
  const Tensor x = n.in(0);
  n.out_of_operands(custom1(n, F::target, {x}, {}, x.type()));
}
template <class F> [[nodiscard]] Tensor kernel_of(NodeCall& n, const Tensor& x) noexcept {
  return custom1(n, F::target, {x}, {}, x.type());
}
/// The square root. Of f32 by primitives, which is within one unit in the last place and what the passes know
/// norms by; of other floats by a kernel.
[[nodiscard]] inline Tensor sqrt_of(NodeCall& n, const Tensor& x) noexcept {
  return x.dtype() == DType::f32 ? n.b().reciprocal(n.b().rsqrt(x)) : kernel_of<kernels::Sqrt>(n, x);
}
inline void sqrt(NodeCall& n) noexcept { n.out(0, sqrt_of(n, n.in(0))); }

template <class F> void kernel_binary(NodeCall& n) noexcept {
  Tensor x = n.in(0);
  Tensor y = n.in(1);
  align(n, x, y);
  n.out(0, custom1(n, F::target, {x, y}, {}, x.type()));
}

inline void mean(NodeCall& n) noexcept {
  Tensor all = widened(n.in(0));
  for (std::size_t i = 1; i < n.inputs(); ++i) all = n.b().add(all, widened(n.in(i)));
  n.out(0, as_type(all / static_cast<double>(n.inputs()), n.dtype(0)));
}
inline void mod(NodeCall& n) noexcept {
  n.integer("fmod", 0) != 0 ? kernel_binary<kernels::Fmod>(n) : kernel_binary<kernels::Mod>(n);
}
inline void bit_shift(NodeCall& n) noexcept {
  const std::string_view direction = n.text("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return n.fail(Errc::invalid_params, "direction is ", zrt::slice(direction, 0, 20), ", expected LEFT or RIGHT");
  direction == "LEFT" ? kernel_binary<kernels::ShiftLeft>(n) : kernel_binary<kernels::ShiftRight>(n);
}
/// The whole number of a type whose bits are all set.
[[nodiscard]] inline Tensor known_ones(NodeCall& n, DType dtype) noexcept {
  const std::array<std::byte, 8> ones{std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff},
                                      std::byte{0xff}, std::byte{0xff}, std::byte{0xff}, std::byte{0xff}};
  if (!is_integer(dtype) || info(dtype).block_elems != 1)
    n.fail(Errc::dtype_mismatch, "x is of ", name(dtype), ", expected whole numbers");
  return n.b().literal({dtype, {}}, Span(ones).first(n.failed() ? 0 : info(dtype).block_bytes));
}
inline void bitwise_not(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const Tensor all = known_ones(n, x.dtype());
  if (n.failed()) return;
  n.out(0, custom1(n, SameBinary<kernels::BitXor>::target, {x, n.b().broadcast_to(all, x.shape())}, {}, x.type()));
}
/// The number that every element of operand `i` is known to be, if it is one.
[[nodiscard]] inline std::optional<double> uniform_in(NodeCall& n, std::size_t i) noexcept {
  const Value v = n.value(i);
  const std::uint64_t count = v.type.shape.constant_elements().raw();
  if (n.failed() || !v.known || !is_computed(v.type.dtype) || info(v.type.dtype).block_elems != 1 || count == 0)
    return std::nullopt;
  const std::size_t width = info(v.type.dtype).block_bytes;
  for (std::size_t at = width; at < v.data.size(); ++at)
    if (v.data[at] != v.data[at - width]) return std::nullopt;
  return n.real_in(i, 0, "an operand");
}
/// Powers of f32 that are products and roots become these, so that norms and activations keep to primitives.
[[nodiscard]] inline std::optional<Tensor> simple_power(NodeCall& n) noexcept {
  const auto exponent = uniform_in(n, 1);
  if (!exponent || n.dtype(0) != DType::f32 || n.rank(1) > n.rank(0)) return std::nullopt;
  for (const std::int64_t extent : n.shape(1))
    if (extent != 1) return std::nullopt;
  const Tensor x = n.in(0);
  if (*exponent == 1) return x;
  if (*exponent == 2) return x * x;
  if (*exponent == 3) return x * x * x;
  if (*exponent == -1) return n.b().reciprocal(x);
  if (*exponent == 0.5) return sqrt_of(n, x);
  if (*exponent == -0.5) return n.b().rsqrt(x);
  return std::nullopt;
}
inline void pow(NodeCall& n) noexcept {
  if (const auto simple = simple_power(n)) return n.out(0, *simple);
  kernel_binary<kernels::Pow>(n);
}
inline void xor_(NodeCall& n) noexcept { n.out(0, n.b().ne(n.in(0), n.in(1))); }
inline void not_(NodeCall& n) noexcept {
  const Value v = n.value(0);
  if (n.failed() || !is_known_list(v, DType::i1)) return n.out_of_operands(n.b().eq(n.in(0), scalar_like(n.in(0), 0)));
  KnownFew<std::uint64_t> few = KnownFew<std::uint64_t>::of(v);
  for (std::uint64_t& truth : few.values) truth = truth == 0 ? 1 : 0;
  few.give(n, v.type);
}
/// The count of known lists that meet element by element, one of 1 as often as the others ask; -1 where they differ.
[[nodiscard]] inline std::int64_t common_count(std::initializer_list<const IntList*> lists) noexcept {
  std::size_t count = 1;
  for (const IntList* list : lists)
    if (list->size() != 1) count = list->size();
  for (const IntList* list : lists)
    if (list->size() != 1 && list->size() != count) return -1;
  return static_cast<std::int64_t>(count);
}
[[nodiscard]] inline std::int64_t element(const IntList& list, std::int64_t i) noexcept {
  return list[list.size() == 1 ? 0 : static_cast<std::size_t>(i)];
}
/// Of a known condition and known whole numbers a known result.
inline void where(NodeCall& n) noexcept {
  const Value p = n.value(0);
  const Value a = n.value(1);
  const Value c = n.value(2);
  const auto selected = [&] { n.out(0, n.b().select(n.in(0), n.in(1), n.in(2))); };
  if (n.failed() || !is_known_list(p, DType::i1) || !is_known_list(a) || !is_known_list(c)) return selected();
  const IntList pred = n.ints_in(0, "the condition");
  const IntList x = n.ints_in(1, "an operand");
  const IntList y = n.ints_in(2, "an operand");
  const std::int64_t count = common_count({&pred, &x, &y});
  if (count < 0) return selected();
  IntList result;
  for (std::int64_t i = 0; i < count; ++i) result.push(element(pred, i) != 0 ? element(x, i) : element(y, i));
  n.out_integers(0, result.view(), p.type.shape.size() + a.type.shape.size() + c.type.shape.size() == 0);
}

inline void classify(NodeCall& n, bool nan, bool positive, bool negative) noexcept {
  const Tensor x = n.in(0);
  n.out(0, custom1(n, kernels::Classify::target, {x},
                   {n.b().entry("nan", Attribute::boolean(nan)), n.b().entry("positive", Attribute::boolean(positive)),
                    n.b().entry("negative", Attribute::boolean(negative))},
                   {DType::i1, x.shape()}));
}
inline void is_nan(NodeCall& n) noexcept { classify(n, true, false, false); }
inline void is_inf(NodeCall& n) noexcept {
  classify(n, false, n.integer("detect_positive", 1) != 0, n.integer("detect_negative", 1) != 0);
}
inline void sign(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  const Tensor zero = scalar_like(x, 0);
  const Tensor above = n.b().select(n.b().gt(x, zero), scalar_like(x, 1), x);
  n.out(0, info(x.dtype()).kind == DTypeKind::unsigned_integer
               ? above
               : n.b().select(n.b().lt(x, zero), scalar_like(x, -1), above));
}

inline void identity(NodeCall& n) noexcept {
  const Value v = n.any_value(0);
  if (n.has_out(0)) n.bind(n.node().outputs[0], v);
}
/// Dropout of a finished model; with training_mode, which came with opset 12, only for a ratio of 0.
inline void dropout(NodeCall& n) noexcept {
  if (n.opset() < 12 && n.has_out(1)) return n.unsupported("the mask of a dropout before opset 12");
  const bool training = n.has(2) && n.int_in(2, "training_mode") != 0;
  const bool keeps = !training || (n.has(1) && n.real_in(1, 0, "ratio") == 0);
  if (!keeps) return n.unsupported("dropout in training draws random numbers");
  const Tensor x = n.in(0);
  identity(n);
  if (n.has_out(1)) n.out(1, n.b().broadcast_to(n.b().scalar(DType::i1, 1), x.shape()));
}

inline void cast_to(NodeCall& n, DType to) noexcept {
  const Value v = n.value(0);
  if (!v.known || n.failed() || !is_computed(to) || !is_computed(v.type.dtype)) {
    const Tensor y = n.b().cast(n.tensor_of(v), to);
    if (n.has_out(0)) n.bind(n.node().outputs[0], {y.type(), y, {}, false, v.source});
    return;
  }
  const std::uint64_t count = v.type.shape.constant_elements().raw();
  Vector<std::byte> bytes(n.allocator());
  if (auto r = bytes.resize(static_cast<std::size_t>(bytes_of(to, count))); !r) return n.fail(r.error());
  cast_elements(v.type.dtype, v.data.data(), to, bytes.data(), 0, count);
  n.out_known(0, {to, v.type.shape}, bytes.span());
}
/// The largest finite number of a float of 8 bits; 0 for other types.
[[nodiscard]] constexpr double saturation_of(DType dtype) noexcept {
  return dtype == DType::fp8_e4m3 ? 448 : dtype == DType::fp8_e5m2 ? 57344 : 0;
}
/// x with what `to`, a float of 8 bits, cannot hold at its ends; NaN stays.
[[nodiscard]] inline Tensor saturated(const Tensor& x, DType to) noexcept {
  const double most = saturation_of(to);
  if (most == 0) return x;
  Builder& b = x.builder();
  const Tensor below = b.select(b.gt(x, scalar_like(x, most)), scalar_like(x, most), x);
  return b.select(b.lt(x, scalar_like(x, -most)), scalar_like(x, -most), below);
}
inline void cast_as_said(NodeCall& n, DType to) noexcept {
  const std::string_view rounding = n.text("round_mode", "up");
  if (rounding != "up" && rounding != "down" && rounding != "nearest")
    return n.fail(Errc::invalid_params, "round_mode is ", zrt::slice(rounding, 0, 20));
  // Beyond the range of float 8s: their ends, unless the attribute says otherwise.
  if (saturation_of(to) != 0 && n.integer("saturate", 1) != 0) {
    const Tensor x = n.in(0);
    return n.out(0, n.b().cast(saturated(is_float(x.dtype()) ? x : n.b().cast(x, DType::f32), to), to));
  }
  cast_to(n, to);
}
inline void clip(NodeCall& n) noexcept {
  Tensor x = n.in(0);
  if (n.has(1)) x = n.b().maximum(x, n.in(1));
  if (n.has(2)) x = n.b().minimum(x, n.in(2));
  // Attributes until opset 10.
  if (n.has_attribute("min")) x = n.b().maximum(x, scalar_like(x, n.real("min", 0)));
  if (n.has_attribute("max")) x = n.b().minimum(x, scalar_like(x, n.real("max", 0)));
  n.out(0, x);
}

[[nodiscard]] inline Tensor relu_of(const Tensor& x) noexcept { return x.builder().maximum(x, scalar_like(x, 0)); }
inline void relu(NodeCall& n) noexcept {
  if (!out_known_unary(n, [](double x) { return x < 0 ? 0 : x; })) n.out_of_operands(relu_of(n.in(0)));
}
inline void leaky(NodeCall& n, const Tensor& slope) noexcept {
  const Tensor x = n.in(0);
  n.out(0, n.b().select(n.b().lt(x, scalar_like(x, 0)), x * slope, x));
}
inline void leaky_relu(NodeCall& n) noexcept { leaky(n, scalar_like(n.in(0), n.real("alpha", 0.01))); }
inline void prelu(NodeCall& n) noexcept { leaky(n, n.in(1)); }
/// scale * (exp(x / unit) - 1) below zero.
inline void exponential(NodeCall& n, double scale, double unit, double above) noexcept {
  Builder& b = n.b();
  const Tensor x = n.in(0);
  const Tensor zero = scalar_like(x, 0);
  const Tensor below = (b.exp(b.minimum(x, zero) / unit) - 1.0) * scale;
  n.out(0, b.select(b.lt(x, zero), below, above == 1 ? x : x * above));
}
inline void elu(NodeCall& n) noexcept { exponential(n, n.real("alpha", 1), 1, 1); }
inline void celu(NodeCall& n) noexcept { exponential(n, n.real("alpha", 1), n.real("alpha", 1), 1); }
inline void selu(NodeCall& n) noexcept {
  const double alpha = n.real("alpha", 1.67326319217681884765625);
  const double gamma = n.real("gamma", 1.05070102214813232421875);
  exponential(n, alpha * gamma, 1, gamma);
}
[[nodiscard]] inline Tensor clipped_line(const Tensor& x, double slope, double offset) noexcept {
  Builder& b = x.builder();
  return b.maximum(scalar_like(x, 0), b.minimum(scalar_like(x, 1), x * slope + offset));
}
inline void hard_sigmoid(NodeCall& n) noexcept {
  n.out(0, clipped_line(n.in(0), n.real("alpha", 0.2), n.real("beta", 0.5)));
}
inline void hard_swish(NodeCall& n) noexcept { n.out(0, n.in(0) * clipped_line(n.in(0), 1.0 / 6, 0.5)); }
[[nodiscard]] inline Tensor sigmoid_of(const Tensor& x) noexcept {
  return x.builder().reciprocal(x.builder().exp(-x) + 1.0);
}
inline void sigmoid(NodeCall& n) noexcept { n.out(0, sigmoid_of(n.in(0))); }
/// log(1 + exp(x)), which may not overflow.
[[nodiscard]] inline Tensor softplus_of(const Tensor& x) noexcept {
  Builder& b = x.builder();
  return b.maximum(x, scalar_like(x, 0)) + b.log(b.exp(-b.abs(x)) + 1.0);
}
inline void softplus(NodeCall& n) noexcept { n.out(0, softplus_of(n.in(0))); }
[[nodiscard]] inline Tensor softsign_of(const Tensor& x) noexcept { return x / (x.builder().abs(x) + 1.0); }
inline void softsign(NodeCall& n) noexcept { n.out(0, softsign_of(n.in(0))); }
[[nodiscard]] inline Tensor tanh_of(const Tensor& x) noexcept { return x.builder().tanh(x); }
[[nodiscard]] inline Tensor gelu_of(NodeCall& n, const Tensor& x, bool by_tanh) noexcept {
  Builder& b = n.b();
  if (!by_tanh) return x * 0.5 * (b.erf(x * 0.70710678118654752440) + 1.0);
  return x * 0.5 * (b.tanh((x + x * x * x * 0.044715) * 0.79788456080286535588) + 1.0);
}
inline void gelu(NodeCall& n) noexcept {
  const std::string_view way = n.text("approximate", "none");
  if (way != "none" && way != "tanh")
    return n.fail(Errc::invalid_params, "approximate is ", zrt::slice(way, 0, 20), ", expected none or tanh");
  n.out(0, as_type(gelu_of(n, widened(n.in(0)), way == "tanh"), n.dtype(0)));
}
/// x * sigmoid(alpha * x).
[[nodiscard]] inline Tensor swish_of(const Tensor& x, double alpha) noexcept {
  return x * sigmoid_of(alpha == 1 ? x : x * alpha);
}
inline void swish(NodeCall& n) noexcept {
  n.out(0, as_type(swish_of(widened(n.in(0)), n.real("alpha", 1)), n.dtype(0)));
}
inline void mish(NodeCall& n) noexcept {
  const Tensor x = widened(n.in(0));
  n.out(0, as_type(x * tanh_of(softplus_of(x)), n.dtype(0)));
}
inline void thresholded_relu(NodeCall& n) noexcept {
  const Tensor x = n.in(0);
  n.out(0, n.b().select(n.b().gt(x, scalar_like(x, n.real("alpha", 1))), x, scalar_like(x, 0)));
}
inline void shrink(NodeCall& n) noexcept {
  Builder& b = n.b();
  const Tensor x = n.in(0);
  const double bias = n.real("bias", 0);
  const double lambda = n.real("lambd", 0.5);
  const Tensor upper = b.select(b.gt(x, scalar_like(x, lambda)), x - bias, scalar_like(x, 0));
  n.out(0, b.select(b.lt(x, scalar_like(x, -lambda)), x + bias, upper));
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
