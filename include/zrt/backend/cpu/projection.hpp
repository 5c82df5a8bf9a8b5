// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/projection.hpp: a weight with the function that multiplies by it.
#pragma once

#include <zrt/backend/cpu/weight_kernels.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// A weight with the function that multiplies by it.
struct Projection {
  HostWeight w{};
  DotRows dot = nullptr;
  const float* bias = nullptr;
  quant::Act act = quant::Act::none;
};

}  // namespace zrt::inline ZRT_ABI::cpu
