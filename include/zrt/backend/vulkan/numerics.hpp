// SPDX-License-Identifier: Apache-2.0
// zrt/backend/vulkan/numerics.hpp: how kernels compute what a driver's own instruction does not round as IEEE says.
#pragma once

#include <zrt/exec/backend.hpp>

#include <array>
#include <cstdint>

namespace zrt::inline ZRT_ABI::vulkan {

/// How kernels fuse a multiplication with an addition: specialisation constant 0.
enum class FmaMode : std::uint32_t {
  native = 0,  ///< fma() of GLSL, which a driver may leave unfused
  khr = 1,     ///< OpFmaKHR of VK_KHR_shader_fma
  soft = 2,    ///< in f64, rounded to odd before the one rounding to f32
};

/// What a device computes with the reference's bits, and how. A driver promises little of it: probe_numerics() tries.
struct DeviceNumerics {
  FmaMode fma = FmaMode::soft;
  bool divides_in_f64 = false;  ///< division and square root: specialisation constant 1
  NumericsClass promise = NumericsClass::relaxed;

  /// How far a result may be from the reference's, relative to the largest of them; 0 where it has its bits.
  [[nodiscard]] constexpr float bound() const noexcept { return promise == NumericsClass::canonical ? 0.0f : 1e-3f; }
  /// By their numbers.
  [[nodiscard]] constexpr std::array<std::uint32_t, 2> constants() const noexcept {
    return {static_cast<std::uint32_t>(fma), divides_in_f64 ? 1u : 0u};
  }
};

}  // namespace zrt::inline ZRT_ABI::vulkan
