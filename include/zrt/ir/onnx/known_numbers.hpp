// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/known_numbers.hpp: arithmetic of a few numbers that are known while a file is read, as extents are.
#pragma once

#include <zrt/ir/onnx/emit.hpp>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::ir::onnx::translate {

/// True for a scalar or a list of real numbers that is known and has at most as many elements as an IntList.
[[nodiscard]] inline bool is_known_few(const Value& v) noexcept {
  return v.known && is_computed(v.type.dtype) && !is_complex(v.type.dtype) && info(v.type.dtype).block_elems == 1 &&
         v.type.shape.size() <= 1 && v.type.shape.constant_elements().raw() <= IntList::kCapacity;
}

/// What becomes of two numbers.
enum class KnownOp : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  maximum,
  minimum,
  equal,
  less,
  less_or_equal,
  greater,
  greater_or_equal
};
[[nodiscard]] constexpr bool compares(KnownOp op) noexcept { return op >= KnownOp::equal; }
template <class T> [[nodiscard]] constexpr bool known_comparison(KnownOp op, T a, T b) noexcept {
  if (op == KnownOp::equal) return a == b;
  if (op == KnownOp::less) return a < b;
  if (op == KnownOp::less_or_equal) return a <= b;
  return op == KnownOp::greater ? a > b : a >= b;
}
/// None where the program says what is given: of NaN, and of a division by zero or one that overflows.
template <class T> [[nodiscard]] constexpr std::optional<T> known_result(KnownOp op, T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return std::nullopt;
    if (op == KnownOp::add) return a + b;
    if (op == KnownOp::subtract) return a - b;
    if (op == KnownOp::multiply) return a * b;
    if (op == KnownOp::divide) return a / b;
  } else {
    // As the instructions do: sums and products wrap.
    const auto p = static_cast<std::uint64_t>(a);
    const auto q = static_cast<std::uint64_t>(b);
    if (op == KnownOp::add) return static_cast<T>(p + q);
    if (op == KnownOp::subtract) return static_cast<T>(p - q);
    if (op == KnownOp::multiply) return static_cast<T>(p * q);
    if (op == KnownOp::divide && (q == 0 || q == ~std::uint64_t{0})) return std::nullopt;
    if (op == KnownOp::divide) return a / b;
  }
  return (op == KnownOp::maximum ? a > b : a < b) ? a : b;
}

/// Numbers of `dtype` as what they are computed in, and back. Whole numbers wrap at the width of their type.
template <class T> struct KnownFew {
  static constexpr DType kDomain = std::is_floating_point_v<T>        ? DType::f64
                                   : std::is_same_v<T, std::uint64_t> ? DType::ui64
                                                                      : DType::si64;
  std::array<T, IntList::kCapacity> values{};

  [[nodiscard]] static KnownFew of(const Value& v) noexcept {
    KnownFew few;
    cast_elements(v.type.dtype, v.data.data(), kDomain, reinterpret_cast<std::byte*>(few.values.data()), 0,
                  v.type.shape.constant_elements().raw());
    return few;
  }
  void give(NodeCall& n, const ptir::TensorType& type) const noexcept {
    const std::uint64_t count = type.shape.constant_elements().raw();
    const std::size_t width = info(type.dtype).block_bytes;
    const auto* words = reinterpret_cast<const std::byte*>(values.data());
    std::array<std::byte, IntList::kCapacity * sizeof(T)> bytes{};
    if constexpr (std::is_floating_point_v<T>) {
      cast_elements(kDomain, words, type.dtype, bytes.data(), 0, count);
    } else {
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < width; ++k) bytes[i * width + k] = words[i * sizeof(T) + k];
    }
    n.out_known(0, type, Span<const std::byte>(bytes.data(), static_cast<std::size_t>(count) * width));
  }
};
/// The extent of lists that meet element by element, one of a single element as often as the other asks; none where
/// they do not meet.
[[nodiscard]] inline std::optional<ptir::Shape> shape_of_both(const Value& a, const Value& b) noexcept {
  const std::uint64_t p = a.type.shape.constant_elements().raw();
  const std::uint64_t q = b.type.shape.constant_elements().raw();
  if (p != q && p != 1 && q != 1) return std::nullopt;
  if (a.type.shape.size() == 0 && b.type.shape.size() == 0) return ptir::Shape{};
  return ptir::Shape{Dim(static_cast<std::int64_t>(p == 1 ? q : p))};
}
template <class T>
[[nodiscard]] bool out_known_in(NodeCall& n, KnownOp op, const Value& a, const Value& b,
                                const ptir::Shape& shape) noexcept {
  const KnownFew<T> x = KnownFew<T>::of(a);
  const KnownFew<T> y = KnownFew<T>::of(b);
  const bool one_x = a.type.shape.constant_elements().raw() == 1;
  const bool one_y = b.type.shape.constant_elements().raw() == 1;
  KnownFew<T> result;
  KnownFew<std::uint64_t> truths;
  for (std::size_t i = 0; i < shape.constant_elements().raw(); ++i) {
    const T p = x.values[one_x ? 0 : i];
    const T q = y.values[one_y ? 0 : i];
    if (compares(op)) {
      truths.values[i] = known_comparison(op, p, q) ? 1 : 0;
    } else if (const std::optional<T> value = known_result(op, p, q)) {
      result.values[i] = *value;
    } else {
      return false;
    }
  }
  if (compares(op))
    truths.give(n, {DType::i1, shape});
  else
    result.give(n, {a.type.dtype, shape});
  return true;
}
/// Gives result 0 of two operands of a few known numbers; false where the program computes it.
[[nodiscard]] inline bool out_known_binary(NodeCall& n, KnownOp op) noexcept {
  const Value a = n.value(0);
  const Value b = n.value(1);
  if (n.failed() || !is_known_few(a) || !is_known_few(b) || a.type.dtype != b.type.dtype) return false;
  const auto shape = shape_of_both(a, b);
  if (!shape) return false;
  // One rounding of f64's result is that of the type itself: f64 has more than twice the bits of narrower floats.
  if (is_float(a.type.dtype)) return out_known_in<double>(n, op, a, b, *shape);
  if (info(a.type.dtype).kind == DTypeKind::signed_integer) return out_known_in<std::int64_t>(n, op, a, b, *shape);
  return out_known_in<std::uint64_t>(n, op, a, b, *shape);
}
/// Gives result 0 of an operand of a few known floats, F of each; false where the program computes it.
template <class F> [[nodiscard]] bool out_known_unary(NodeCall& n, F&& apply) noexcept {
  const Value v = n.value(0);
  if (n.failed() || !is_known_few(v) || !is_float(v.type.dtype)) return false;
  KnownFew<double> few = KnownFew<double>::of(v);
  for (double& value : few.values) {
    value = apply(value);
    // As kernels do, which round to f32 before a narrower type.
    if (v.type.dtype != DType::f64) value = double{static_cast<float>(value)};
  }
  few.give(n, v.type);
  return true;
}

}  // namespace zrt::inline ZRT_ABI::ir::onnx::translate

ZRT_LOAD_TIME_END
