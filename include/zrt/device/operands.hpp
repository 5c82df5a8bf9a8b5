// SPDX-License-Identifier: Apache-2.0
// zrt/device/operands.hpp: tensors, weights, state and workspace as addresses that kernels see.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/device/upload/types.hpp>
#include <zrt/ops/state.hpp>

namespace zrt::inline ZRT_ABI::device {

/// A tensor in an arena. Extents that follow the step are in the step.
struct Tensor {
  std::uint64_t address = 0;
  TensorType type{};
  [[nodiscard]] bool present() const noexcept { return address != 0; }
};

/// A weight in the parts that kernels read. `file` is what it was made from, for what is computed while recording.
struct Weight {
  std::array<std::uint64_t, kMaxParts> parts{};
  DType dtype = DType::f32;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  const std::byte* file = nullptr;
  bool is_vector = false;  ///< lies as in the file
  [[nodiscard]] bool present() const noexcept { return parts[0] != 0; }
};

/// Pages or slot blocks, `unit_bytes` apart.
struct State {
  std::uint64_t address = 0;
  std::uint64_t unit_bytes = 0;
  std::uint32_t units = 0;
  StateInfo info{};
};

/// An instruction's workspace.
struct Scratch {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// The host of calls that adapters record.
struct Operands {
  using Tensor = device::Tensor;
  using Weight = device::Weight;
  using State = device::State;
};

}  // namespace zrt::inline ZRT_ABI::device
