// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/kernels/elementwise.inc.hpp: textual fragment: sums and activations, element by element.

inline void residual_add(const ResidualAddArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(a.call.in[0].elements(step), 64, worker);
  const F32 scale = splat(a.call.params.scale);
  map(a.call.in[0].as<float>(), a.call.in[1].as<float>(), a.call.out[0].as<float>(), part.first, part.last,
      [&](F32 x, F32 branch) ZRT_UNROLLED { return fma(scale, branch, x); });
}

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
  }
}

inline void gated_act(const GatedActArgs& a, const ExecutionContext& step, const Worker& worker) noexcept {
  const Range part = split(a.call.in[0].elements(step), 64, worker);
  gate_elements(a.call.params.act, a.call.in[0].as<float>(), a.call.in[1].as<float>(), a.call.out[0].as<float>(),
                part.first, part.last);
}
