// SPDX-License-Identifier: Apache-2.0
// zrt/ir/onnx/kernels_elementwise.hpp: element-wise operators of ONNX that the portable tensor IR lacks.
//
// Floats are computed in f64 and rounded once to their type.
#pragma once

#include <zrt/core/cast.hpp>
#include <zrt/core/map_elements.hpp>
#include <zrt/ir/onnx/scalar_math.hpp>
#include <zrt/ops/custom_signature.hpp>

namespace zrt::inline ZRT_ABI::ir::onnx {

using CustomCallArgs = HostCall<ops::CustomCall>;

/// A call of `inputs` operands and `outputs` results.
[[nodiscard]] inline Result<void> expect_counts(std::string_view target, const CustomCallArgs& c, std::size_t inputs,
                                                std::size_t outputs) noexcept {
  if (c.in.size() != inputs || c.out.size() != outputs)
    return fail(Errc::invalid_params, target, " has ", c.in.size(), " operands and ", c.out.size(),
                " results, expected ", inputs, " and ", outputs);
  for (const HostTensor& x : c.in)
    if (!is_computed(x.type.dtype) || info(x.type.dtype).block_elems != 1)
      return fail(Errc::dtype_mismatch, target, " has an operand of ", name(x.type.dtype), ", expected real numbers");
  return {};
}
[[nodiscard]] inline Result<void> bad_call(std::string_view target, std::string_view what) noexcept {
  return fail(Errc::invalid_params, target, ": ", what);
}

/// The part of `count` elements that a worker computes.
struct ElementShare {
  std::uint64_t first;
  std::uint64_t count;
};
[[nodiscard]] inline ElementShare share_of(std::uint64_t count, const Worker& worker) noexcept {
  const std::uint64_t part = (count + worker.count - 1) / worker.count;
  const std::uint64_t first = part * worker.index < count ? part * worker.index : count;
  return {first, count - first < part ? count - first : part};
}
[[nodiscard]] inline std::byte* element(const HostTensor& x, std::uint64_t index) noexcept {
  return x.data + index * info(x.type.dtype).block_bytes;
}

/// y = F::apply(x) for floats x and y of one type.
template <class F> struct FloatUnary {
  using Function = F;
  static constexpr std::string_view target = F::target;
  static constexpr auto attributes = ops::kNoCustomAttributes;
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    if (!is_float(c.in[0].type.dtype) || !(c.out[0].type == c.in[0].type))
      return bad_call(target, "x and y must be floats of one type and shape");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    const ElementShare share = share_of(c.in[0].elements(step), worker);
    const std::byte* x = element(c.in[0], share.first);
    std::byte* y = element(c.out[0], share.first);
    if (dtype == DType::f64)
      map_elements<double, double>(dtype, dtype, y, share.count, [](double v) { return F::apply(v); }, x);
    else
      map_elements<float, float>(
          dtype, dtype, y, share.count, [](float v) { return static_cast<float>(F::apply(double{v})); }, x);
  }
};

/// y = F::apply(a, b) in the domain of a and b, which are of one type, as y is.
template <class F> struct SameBinary {
  static constexpr std::string_view target = F::target;
  static constexpr auto attributes = ops::kNoCustomAttributes;
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 2, 1); !r) return r;
    if (!(c.in[1].type == c.in[0].type) || !(c.out[0].type == c.in[0].type))
      return bad_call(target, "a, b and y must be of one type and shape");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType dtype = c.in[0].type.dtype;
    const ElementShare share = share_of(c.in[0].elements(step), worker);
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      map_elements<T, T>(
          dtype, dtype, element(c.out[0], share.first), share.count,
          [&](T a, T b) {
            if constexpr (std::integral<T>)
              if (F::divides && b == 0) {
                step.violated(worker);
                return T{0};
              }
            return F::apply(a, b);
          },
          element(c.in[0], share.first), element(c.in[1], share.first));
    });
  }
};

namespace kernels {

struct Sin {
  static constexpr std::string_view target = "zrt.onnx.sin.v1";
  static double apply(double x) noexcept { return math::sin64(x); }
};
struct Cos {
  static constexpr std::string_view target = "zrt.onnx.cos.v1";
  static double apply(double x) noexcept { return math::cos64(x); }
};
struct Tan {
  static constexpr std::string_view target = "zrt.onnx.tan.v1";
  static double apply(double x) noexcept { return math::sin64(x) / math::cos64(x); }
};
struct Asin {
  static constexpr std::string_view target = "zrt.onnx.asin.v1";
  static double apply(double x) noexcept { return scalar_math::asin(x); }
};
struct Acos {
  static constexpr std::string_view target = "zrt.onnx.acos.v1";
  static double apply(double x) noexcept { return scalar_math::acos(x); }
};
struct Atan {
  static constexpr std::string_view target = "zrt.onnx.atan.v1";
  static double apply(double x) noexcept { return scalar_math::atan(x); }
};
struct Sinh {
  static constexpr std::string_view target = "zrt.onnx.sinh.v1";
  static double apply(double x) noexcept { return scalar_math::sinh(x); }
};
struct Cosh {
  static constexpr std::string_view target = "zrt.onnx.cosh.v1";
  static double apply(double x) noexcept { return scalar_math::cosh(x); }
};
struct Asinh {
  static constexpr std::string_view target = "zrt.onnx.asinh.v1";
  static double apply(double x) noexcept { return scalar_math::asinh(x); }
};
struct Acosh {
  static constexpr std::string_view target = "zrt.onnx.acosh.v1";
  static double apply(double x) noexcept { return scalar_math::acosh(x); }
};
struct Atanh {
  static constexpr std::string_view target = "zrt.onnx.atanh.v1";
  static double apply(double x) noexcept { return scalar_math::atanh(x); }
};
struct Sqrt {
  static constexpr std::string_view target = "zrt.onnx.sqrt.v1";
  static double apply(double x) noexcept { return __builtin_sqrt(x); }
};
struct Floor {
  static constexpr std::string_view target = "zrt.onnx.floor.v1";
  static double apply(double x) noexcept { return scalar_math::floor(x); }
};
struct Ceil {
  static constexpr std::string_view target = "zrt.onnx.ceil.v1";
  static double apply(double x) noexcept { return -scalar_math::floor(-x); }
};
struct Round {
  static constexpr std::string_view target = "zrt.onnx.round.v1";
  static double apply(double x) noexcept { return scalar_math::round_even(x); }
};
/// The remainder with the sign of the divisor, as Python's %.
struct Mod {
  static constexpr std::string_view target = "zrt.onnx.mod.v1";
  static constexpr bool divides = true;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>) {
      const T rest = static_cast<T>(scalar_math::fmod(a, b));
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
      const T rest = a % b;
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    } else {
      return a % b;
    }
  }
};
/// The remainder with the sign of the dividend, as C's fmod and %.
struct Fmod {
  static constexpr std::string_view target = "zrt.onnx.fmod.v1";
  static constexpr bool divides = true;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>)
      return static_cast<T>(scalar_math::fmod(a, b));
    else if constexpr (std::is_signed_v<T>)
      return b == -1 ? 0 : a % b;
    else
      return a % b;
  }
};
struct ShiftLeft {
  static constexpr std::string_view target = "zrt.onnx.shift_left.v1";
  static constexpr bool divides = false;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>)
      return a;
    else
      return static_cast<std::uint64_t>(b) > 63 ? 0 : static_cast<T>(static_cast<std::uint64_t>(a) << b);
  }
};
struct ShiftRight {
  static constexpr std::string_view target = "zrt.onnx.shift_right.v1";
  static constexpr bool divides = false;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>)
      return a;
    else
      return static_cast<std::uint64_t>(b) > 63 ? 0 : static_cast<T>(static_cast<std::uint64_t>(a) >> b);
  }
};

struct BitAnd {
  static constexpr std::string_view target = "zrt.onnx.bit_and.v1";
  static constexpr bool divides = false;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>)
      return a;
    else
      return a & b;
  }
};
struct BitOr {
  static constexpr std::string_view target = "zrt.onnx.bit_or.v1";
  static constexpr bool divides = false;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>)
      return a;
    else
      return a | b;
  }
};
struct BitXor {
  static constexpr std::string_view target = "zrt.onnx.bit_xor.v1";
  static constexpr bool divides = false;
  template <class T> static T apply(T a, T b) noexcept {
    if constexpr (std::floating_point<T>)
      return a;
    else
      return a ^ b;
  }
};

/// x to the power of y: x and the result of one type, y of any; whole numbers by repeated squares.
struct Pow {
  static constexpr std::string_view target = "zrt.onnx.pow.v1";
  static constexpr auto attributes = ops::kNoCustomAttributes;
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 2, 1); !r) return r;
    if (!(c.in[1].type.shape == c.in[0].type.shape) || !(c.out[0].type == c.in[0].type))
      return bad_call(target, "x, y and the result must be of one shape, the result of x's type");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const DType base = c.in[0].type.dtype;
    const DType power = c.in[1].type.dtype;
    const ElementShare share = share_of(c.in[0].elements(step), worker);
    for (std::uint64_t i = share.first; i < share.first + share.count; ++i) {
      std::array<std::byte, 8> result{};
      if (!is_float(base) && !is_float(power)) {
        const std::int64_t x = read<std::int64_t>(base, element(c.in[0], i), DType::si64);
        const std::int64_t y = read<std::int64_t>(power, element(c.in[1], i), DType::si64);
        result = std::bit_cast<std::array<std::byte, 8>>(scalar_math::power(x, y));
        // Wrapping, as products of the type do.
        for (std::size_t b = 0; b < info(base).block_bytes; ++b) element(c.out[0], i)[b] = result[b];
      } else {
        const double x = read<double>(base, element(c.in[0], i), DType::f64);
        const double y = read<double>(power, element(c.in[1], i), DType::f64);
        result = std::bit_cast<std::array<std::byte, 8>>(scalar_math::power(x, y));
        cast_elements(DType::f64, result.data(), base, element(c.out[0], i), 0, 1);
      }
    }
  }
  template <class T> static T read(DType from, const std::byte* data, DType to) noexcept {
    std::array<std::byte, 8> word{};
    cast_elements(from, data, to, word.data(), 0, 1);
    return std::bit_cast<T>(word);
  }
};

/// Whether x is NaN (attribute infinite false), or infinite with a sign that `positive` and `negative` admit.
struct Classify {
  static constexpr std::string_view target = "zrt.onnx.classify.v1";
  static constexpr auto attributes = std::to_array<ops::CustomAttributeField>({{"nan", ops::CustomKind::boolean},
                                                                               {"positive", ops::CustomKind::boolean},
                                                                               {"negative", ops::CustomKind::boolean}});
  static Result<void> check(const CustomCallArgs& c) noexcept {
    if (auto r = expect_counts(target, c, 1, 1); !r) return r;
    if (!is_float(c.in[0].type.dtype) || c.out[0].type.dtype != DType::i1 ||
        !(c.out[0].type.shape == c.in[0].type.shape))
      return bad_call(target, "x must be floats and y i1 of the same shape");
    return {};
  }
  static void run(const CustomCallArgs& c, const ExecutionContext& step, const Worker& worker) noexcept {
    const auto given = ops::CustomCall::attributes_of(c);
    const bool nan = given.find("nan")->boolean();
    const bool positive = given.find("positive")->boolean();
    const bool negative = given.find("negative")->boolean();
    const DType dtype = c.in[0].type.dtype;
    const ElementShare share = share_of(c.in[0].elements(step), worker);
    visit_domain(dtype, [&]<class T>(std::type_identity<T>) {
      map_elements<T, std::uint64_t>(
          dtype, DType::i1, element(c.out[0], share.first), share.count,
          [&](T x) -> std::uint64_t {
            if constexpr (std::floating_point<T>) {
              constexpr T kInfinity = std::numeric_limits<T>::infinity();
              return (nan && x != x) || (positive && x == kInfinity) || (negative && x == -kInfinity);
            } else {
              return 0;
            }
          },
          element(c.in[0], share.first));
    });
  }
};

}  // namespace kernels

/// Every element-wise target.
using ElementwiseTargets =
    boost::mp11::mp_list<FloatUnary<kernels::Sin>, FloatUnary<kernels::Cos>, FloatUnary<kernels::Tan>,
                         FloatUnary<kernels::Asin>, FloatUnary<kernels::Acos>, FloatUnary<kernels::Atan>,
                         FloatUnary<kernels::Sinh>, FloatUnary<kernels::Cosh>, FloatUnary<kernels::Asinh>,
                         FloatUnary<kernels::Acosh>, FloatUnary<kernels::Atanh>, FloatUnary<kernels::Sqrt>,
                         FloatUnary<kernels::Floor>, FloatUnary<kernels::Ceil>, FloatUnary<kernels::Round>,
                         SameBinary<kernels::Mod>, SameBinary<kernels::Fmod>, SameBinary<kernels::ShiftLeft>,
                         SameBinary<kernels::ShiftRight>, SameBinary<kernels::BitAnd>, SameBinary<kernels::BitOr>,
                         SameBinary<kernels::BitXor>, kernels::Pow, kernels::Classify>;

}  // namespace zrt::inline ZRT_ABI::ir::onnx
