// SPDX-License-Identifier: Apache-2.0
// zrt/ops/host.hpp: tensors, weights, state and regions as code that runs on the host sees them.
#pragma once

#include <zrt/core/dims.hpp>
#include <zrt/core/half.hpp>
#include <zrt/core/span.hpp>
#include <zrt/ops/execution_context.hpp>
#include <zrt/ops/state.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI {

/// A tensor in host memory. Extents that follow the step are read from the step.
struct HostTensor {
  std::byte* data = nullptr;
  TensorType type{};

  [[nodiscard]] bool present() const noexcept { return data != nullptr; }
  template <class T> [[nodiscard]] T* as() const noexcept { return reinterpret_cast<T*>(data); }
  /// Elements of the last axis.
  [[nodiscard]] std::uint32_t cols(const ExecutionContext& step) const noexcept {
    return step.extents.of(type.shape.last());
  }
  /// Elements of all other axes.
  [[nodiscard]] std::uint32_t rows(const ExecutionContext& step) const noexcept {
    std::uint32_t rows = 1;
    for (std::uint8_t axis = 0; axis + 1 < type.shape.rank; ++axis) rows *= step.extents.of(type.shape[axis]);
    return rows;
  }
  [[nodiscard]] std::uint64_t elements(const ExecutionContext& step) const noexcept {
    std::uint64_t count = 1;
    for (std::uint8_t axis = 0; axis < type.shape.rank; ++axis) count *= step.extents.of(type.shape[axis]);
    return count;
  }
};

/// A weight in host memory, as it lies in its file: rows of `cols` elements, `row_bytes` apart.
struct HostWeight {
  const std::byte* data = nullptr;
  DType dtype = DType::f32;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;
  std::uint64_t row_bytes = 0;

  [[nodiscard]] bool present() const noexcept { return data != nullptr; }
  [[nodiscard]] const std::byte* row(std::uint64_t index) const noexcept { return data + index * row_bytes; }
  /// The elements of an f32 weight.
  [[nodiscard]] const float* f32() const noexcept { return reinterpret_cast<const float*>(data); }
  /// Element `index` of a weight that is f32, f16 or bf16.
  [[nodiscard]] float value(std::uint64_t index) const noexcept {
    if (dtype == DType::f16) return to_f32(reinterpret_cast<const Half*>(data)[index]);
    if (dtype == DType::bf16) return to_f32(reinterpret_cast<const BFloat16*>(data)[index]);
    return f32()[index];
  }
};

/// State in host memory: `units` pages or slot blocks of `unit_bytes` each.
struct HostState {
  std::byte* data = nullptr;
  std::uint64_t unit_bytes = 0;
  std::uint32_t units = 0;
  StateInfo info{};

  [[nodiscard]] std::byte* unit(std::uint64_t index) const noexcept { return data + index * unit_bytes; }
};

/// A region recorded for the host. Parameters and results have memory of their own.
struct HostRegion {
  const void* program = nullptr;
  void (*run_program)(const void* program, const ExecutionContext& step, std::uint32_t instruction) noexcept = nullptr;
  Span<const HostTensor> params;
  Span<const HostTensor> results;

  /// Runs the region once, on the calling worker alone.
  void run(const ExecutionContext& step, const Worker& worker) const noexcept {
    run_program(program, step, worker.instruction);
  }
};

/// The host of references: host memory.
struct Host {
  using Tensor = HostTensor;
  using Weight = HostWeight;
  using State = HostState;
  using Region = HostRegion;
};

}  // namespace zrt::inline ZRT_ABI
