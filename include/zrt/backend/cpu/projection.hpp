// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/projection.hpp: a weight with the function that multiplies by it.
#pragma once

#include <zrt/backend/cpu/weight_kernels.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// A weight with the function that multiplies by it: as it lies, or packed.
struct Projection {
  HostWeight w{};
  PackedWeight packed{};
  DotRows dot = nullptr;
  DotPacked dot_packed = nullptr;
  const float* bias = nullptr;
  quant::Act act = quant::Act::none;

  [[nodiscard]] bool present() const noexcept { return dot != nullptr || dot_packed != nullptr; }
  /// Computes y[t · stride + n - first] = W[n] · x[t] for weight rows n in first..last-1 and every row t; the rows belong
  /// to one matrix, and `first` is a multiple of 16 rows from where it begins.
  void multiply(std::uint32_t first, std::uint32_t last, const Activations& x, float* y,
                std::uint64_t stride) const noexcept {
    if (dot_packed != nullptr)
      dot_packed(packed, first, last, x, y, stride);
    else
      dot(w, first, last, x, y, stride);
  }
};

}  // namespace zrt::inline ZRT_ABI::cpu
