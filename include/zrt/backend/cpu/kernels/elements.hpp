// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/elements.hpp: the functions of single elements, over runs of f32.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_ELEMENTS)
#define ZRT_BACKEND_CPU_KERNELS_ELEMENTS

#include <zrt/backend/cpu/kernels/extremes.hpp>
#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/ops/elementwise_binary.hpp>
#include <zrt/ops/elementwise_unary.hpp>

#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/elements.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// y[i] = f(x[i]) for i in first..last-1; y may be x.
[[gnu::noinline]] inline void apply_unary(ops::UnaryKind kind, const float* x, float* y, std::uint64_t first,
                                          std::uint64_t last) noexcept {
  using ops::UnaryKind;
  const auto by = [&](auto f) noexcept { map(x, y, first, last, f); };
  switch (kind) {
    case UnaryKind::neg:
      return by([](F32 v) noexcept { return -v; });
    case UnaryKind::abs:
      return by([](F32 v) noexcept { return abs(v); });
    case UnaryKind::exp:
      return by([](F32 v) noexcept { return exp(v); });
    case UnaryKind::log:
      return by([](F32 v) noexcept { return log(v); });
    case UnaryKind::tanh:
      return by([](F32 v) noexcept { return tanh(v); });
    case UnaryKind::erf:
      return by([](F32 v) noexcept { return erf(v); });
    case UnaryKind::rsqrt:
      return by([](F32 v) noexcept { return splat(1.0f) / sqrt(v); });
    case UnaryKind::reciprocal:
      return by([](F32 v) noexcept { return splat(1.0f) / v; });
    case UnaryKind::sin:
      return by([](F32 v) noexcept { return sin(v); });
    case UnaryKind::cos:
      return by([](F32 v) noexcept { return cos(v); });
  }
}

/// y[i] = f(x[i], z[i]) for i in first..last-1; y may be x or z.
[[gnu::noinline]] inline void apply_binary(ops::BinaryKind kind, const float* x, const float* z, float* y,
                                           std::uint64_t first, std::uint64_t last) noexcept {
  using ops::BinaryKind;
  const auto by = [&](auto f) noexcept { map(x, z, y, first, last, f); };
  switch (kind) {
    case BinaryKind::add:
      return by([](F32 a, F32 b) noexcept { return a + b; });
    case BinaryKind::sub:
      return by([](F32 a, F32 b) noexcept { return a - b; });
    case BinaryKind::mul:
      return by([](F32 a, F32 b) noexcept { return a * b; });
    case BinaryKind::div:
      return by([](F32 a, F32 b) noexcept { return a / b; });
    case BinaryKind::maximum:
      return by([](F32 a, F32 b) noexcept { return maximum(a, b); });
    case BinaryKind::minimum:
      return by([](F32 a, F32 b) noexcept { return minimum(a, b); });
    case BinaryKind::pow:
      return by([](F32 a, F32 b) noexcept { return pow(a, b); });
  }
}

#endif
