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

/// y[i] = f(gate[i]) · factor(up[i]), or f(gate[i]) without `up`, for i in first..last-1: one copy of `f` for all.
template <class F, class G>
ZRT_ALWAYS_INLINE void gate_by(const float* gate, const float* up, float* y, std::uint64_t first, std::uint64_t last,
                               F&& f, G&& factor) noexcept {
  for (std::uint64_t i = first; i < last; i += 16) {
    const auto rest = static_cast<std::size_t>(last - i);
    const auto read = [&](const float* from)
                          ZRT_UNROLLED { return rest < 16 ? load_first(from + i, rest) : load(from + i); };
    F32 v = f(read(gate));
    if (up != nullptr) v = v * factor(read(up));
    if (rest < 16)
      store_first(y + i, v, rest);
    else
      store(y + i, v);
  }
}
inline void gate_elements(Activation act, const float* gate, const float* up, float* y, std::uint64_t first,
                          std::uint64_t last) noexcept {
  const auto same = [](F32 x) ZRT_UNROLLED { return x; };
  const auto by = [&](auto f) ZRT_UNROLLED { gate_by(gate, up, y, first, last, f, same); };
  switch (act) {
    case Activation::none:
      return by(same);
    case Activation::silu:
      return by([](F32 x) ZRT_UNROLLED { return silu(x); });
    case Activation::gelu:
      return by([](F32 x) ZRT_UNROLLED { return gelu(x); });
    case Activation::gelu_tanh:
      return by([](F32 x) ZRT_UNROLLED { return gelu_tanh(x); });
    case Activation::relu2:
      return by([](F32 x) ZRT_UNROLLED { return relu2(x); });
    case Activation::relu:
      return by([](F32 x) ZRT_UNROLLED { return relu(x); });
    case Activation::swiglu_oai:
      return gate_by(
          gate, up, y, first, last, [](F32 x) ZRT_UNROLLED { return swiglu_oai_gate(x); },
          [](F32 x) ZRT_UNROLLED { return swiglu_oai_up(x); });
  }
}

#endif
