// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/fixed_shapes.hpp: whether the shapes of a call are the same in every step.
#pragma once

#include <zrt/ops/op.hpp>

namespace zrt::inline ZRT_ABI::cpu {

/// True when no extent of an input or an output follows the step.
template <class O> [[nodiscard]] bool fixed_shapes(const HostCall<O>& c) noexcept {
  const auto fixed = [](const auto& tensors) noexcept {
    for (const HostTensor& tensor : tensors)
      for (std::uint8_t axis = 0; axis < tensor.type.shape.rank; ++axis)
        if (tensor.type.shape[axis].symbol != 0) return false;
    return true;
  };
  return fixed(c.in) && fixed(c.out);
}

}  // namespace zrt::inline ZRT_ABI::cpu
