// SPDX-License-Identifier: Apache-2.0
// zrt/ops/activation.hpp: the activation functions that gated blocks name.
#pragma once

#include <zrt/core/elementary.hpp>

#include <cstdint>

namespace zrt::inline ZRT_ABI {

enum class Activation : std::uint8_t {
  none,
  silu,
  gelu,
  gelu_tanh,
  relu2,
  relu,
  swiglu_oai,  ///< of gpt-oss: g · sigmoid(1.702 g) with g = min(gate, 7), times clamp(up, -7, 7) + 1
};
inline constexpr std::uint8_t kActivations = 7;

/// One activation in f32, by zrt's own elementary functions.
[[nodiscard]] inline float activate(Activation kind, float x) noexcept {
  switch (kind) {
    case Activation::none:
      return x;
    case Activation::silu:
      return math::silu(x);
    case Activation::gelu:
      return math::gelu(x);
    case Activation::gelu_tanh:
      return math::gelu_tanh(x);
    case Activation::relu2:
      return math::relu2(x);
    case Activation::relu:
      return math::relu(x);
    case Activation::swiglu_oai:
      return math::swiglu_oai_gate(x);
  }
  return x;
}

/// One element of a gated block: act(gate) · up.
[[nodiscard]] inline float gated(Activation kind, float gate, float up) noexcept {
  return activate(kind, gate) * (kind == Activation::swiglu_oai ? math::swiglu_oai_up(up) : up);
}

}  // namespace zrt::inline ZRT_ABI
