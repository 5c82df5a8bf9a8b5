// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/activations.hpp: activation functions of rows, gated or not, and soft caps.
#if !defined(ZRT_VARIANT) && !defined(ZRT_BACKEND_CPU_KERNELS_ACTIVATIONS)
#define ZRT_BACKEND_CPU_KERNELS_ACTIVATIONS

#include <zrt/backend/cpu/kernels/map.hpp>
#include <zrt/ops/activation.hpp>

#include <cstdint>

#define ZRT_KERNELS_FRAGMENT <zrt/backend/cpu/kernels/activations.hpp>
#include <zrt/backend/cpu/simd/foreach_variant.hpp>

#elif defined(ZRT_VARIANT)

/// cap · tanh(x / cap).
[[nodiscard]] ZRT_NOINLINE inline F32 soft_capped(F32 x, float cap) noexcept {
  return sealed(splat(cap) * tanh(x / splat(cap)));
}

/// y[i] = act(gate[i]) · up[i], or act(gate[i]) without `up`, for i in first..last-1.
template <class F>
ZRT_ALWAYS_INLINE void gate_by(const float* gate, const float* up, float* y, std::uint64_t first, std::uint64_t last,
                               F&& f) noexcept {
  if (up == nullptr)
    map(gate, y, first, last, [&](F32 g) ZRT_UNROLLED { return f(g); });
  else
    map(gate, up, y, first, last, [&](F32 g, F32 u) ZRT_UNROLLED { return f(g) * u; });
}
inline void gate_elements(Activation act, const float* gate, const float* up, float* y, std::uint64_t first,
                          std::uint64_t last) noexcept {
  switch (act) {
    case Activation::none:
      return gate_by(gate, up, y, first, last, [](F32 x) noexcept { return x; });
    case Activation::silu:
      return gate_by(gate, up, y, first, last, [](F32 x) noexcept { return silu(x); });
    case Activation::gelu:
      return gate_by(gate, up, y, first, last, [](F32 x) noexcept { return gelu(x); });
    case Activation::gelu_tanh:
      return gate_by(gate, up, y, first, last, [](F32 x) noexcept { return gelu_tanh(x); });
    case Activation::relu2:
      return gate_by(gate, up, y, first, last, [](F32 x) noexcept { return relu2(x); });
    case Activation::relu:
      return gate_by(gate, up, y, first, last, [](F32 x) noexcept { return relu(x); });
    case Activation::swiglu_oai:
      if (up == nullptr) return map(gate, y, first, last, [](F32 x) noexcept { return swiglu_oai_gate(x); });
      return map(gate, up, y, first, last, [](F32 g, F32 u) noexcept { return swiglu_oai_gate(g) * swiglu_oai_up(u); });
  }
}

#endif
