// SPDX-License-Identifier: Apache-2.0
// zrt/backend/cpu/scratch.hpp: how the ops with projections lay out the scratch of an instruction.
#pragma once

#include <zrt/backend/cpu/weight_kernels.hpp>

#include <cstddef>
#include <cstdint>

namespace zrt::inline ZRT_ABI::cpu {

/// Activation rows in scratch: normed rows, then their rounded form. All workers see the same memory.
struct RowScratch {
  float* normed = nullptr;
  std::int8_t* q = nullptr;
  float* d = nullptr;
  std::int32_t* sum = nullptr;
  std::int32_t* half_sum = nullptr;
  std::int8_t* wide_q = nullptr;
  float* wide_d = nullptr;
  std::int32_t* wide_sum = nullptr;
  std::int32_t* wide_half_sum = nullptr;

  [[nodiscard]] Activations activations(const float* x, std::uint32_t rows, std::uint32_t cols) const noexcept {
    return {x, q, d, sum, half_sum, wide_q, wide_d, wide_sum, wide_half_sum, rows, cols};
  }
};

/// The rounded forms that op O reads under parameters `p`.
template <class O> [[nodiscard]] constexpr RoundedForms rounded_forms(const typename O::Params& p) noexcept {
  RoundedForms forms;
  for (const auto& act : O::act_fields) forms.add(p.*act.field);
  return forms;
}

/// Rows of a tensor type with the symbols at `extents`: the product of all axes but the last.
[[nodiscard]] constexpr CheckedSize row_count(const Shape& shape, const Extents& extents) noexcept {
  return shape.with_last(1).elements(extents);
}

[[nodiscard]] constexpr CheckedSize normed_bytes(CheckedSize rows, std::uint32_t cols) noexcept {
  return (rows * CheckedSize(cols) * sizeof(float)).aligned(64);
}
[[nodiscard]] constexpr CheckedSize rounded_bytes(CheckedSize rows, std::uint32_t cols) noexcept {
  const CheckedSize scales = (rows * CheckedSize(cols / kGroup) * sizeof(float)).aligned(64);
  const CheckedSize form = (rows * CheckedSize(cols)).aligned(64) + scales * CheckedSize(4);
  return form + form;
}

/// Finds both rounded forms of the rows at `memory`; `normed` stays null.
[[nodiscard]] inline RowScratch rounded_scratch(std::byte* memory, std::uint32_t rows, std::uint32_t cols) noexcept {
  const std::uint64_t integers = align_up(std::uint64_t{rows} * cols, 64);
  const std::uint64_t scales = align_up(std::uint64_t{rows} * (cols / kGroup) * sizeof(float), 64);
  RowScratch s;
  s.q = reinterpret_cast<std::int8_t*>(memory);
  s.d = reinterpret_cast<float*>(memory + integers);
  s.sum = reinterpret_cast<std::int32_t*>(memory + integers + scales);
  s.half_sum = reinterpret_cast<std::int32_t*>(memory + integers + 2 * scales);
  // The wide form has room of the same size; it needs fewer scales.
  std::byte* const wide = memory + integers + 4 * scales;
  s.wide_q = reinterpret_cast<std::int8_t*>(wide);
  s.wide_d = reinterpret_cast<float*>(wide + integers);
  s.wide_sum = reinterpret_cast<std::int32_t*>(wide + integers + scales);
  s.wide_half_sum = reinterpret_cast<std::int32_t*>(wide + integers + 2 * scales);
  return s;
}

/// Finds normed rows and, behind them, rounded rows.
[[nodiscard]] inline RowScratch normed_scratch(std::byte* memory, std::uint32_t rows, std::uint32_t cols) noexcept {
  RowScratch s = rounded_scratch(memory + align_up(std::uint64_t{rows} * cols * sizeof(float), 64), rows, cols);
  s.normed = reinterpret_cast<float*>(memory);
  return s;
}

}  // namespace zrt::inline ZRT_ABI::cpu
