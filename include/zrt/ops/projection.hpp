// SPDX-License-Identifier: Apache-2.0
// zrt/ops/projection.hpp: one output of a weight row times an activation row, as the references compute it.
#pragma once

#include <zrt/ops/op.hpp>
#include <zrt/quant/activation.hpp>
#include <zrt/quant/dot.hpp>
#include <zrt/quant/types.hpp>

namespace zrt::inline ZRT_ABI {

/// One activation row, rounded as the plan says; the rounded form lies in scratch.
struct ActivationRow {
  const float* x = nullptr;
  const std::int8_t* q = nullptr;
  const float* d = nullptr;
  std::uint32_t cols = 0;
  quant::Act act = quant::Act::none;
};

/// Scratch that `round_row` needs: dequantised weights or rounded activations of one row.
[[nodiscard]] constexpr CheckedSize projection_scratch(std::uint32_t cols) noexcept {
  return CheckedSize(cols) * 4 + CheckedSize(cols) + (CheckedSize(cols) * 4 + 128);
}

/// Rounds `x` into the scratch, after the room for one dequantised weight row.
[[nodiscard]] inline ActivationRow round_row(const float* x, std::uint32_t cols, quant::Act act,
                                             Span<std::byte> scratch) noexcept {
  ActivationRow row{x, nullptr, nullptr, cols, act};
  if (act == quant::Act::none) return row;
  auto* d = reinterpret_cast<float*>(scratch.data() + std::uint64_t{cols} * 4);
  auto* q = reinterpret_cast<std::int8_t*>(scratch.data() + std::uint64_t{cols} * 8 + 64);
  quant::round_activation(x, cols, quant::group_elems(act), q, d);
  row.q = q;
  row.d = d;
  return row;
}

/// y = W[n] · x: `blocks` order for a rounded activation, else dot16 over the dequantised row.
[[nodiscard]] inline float project(const HostWeight& w, std::uint64_t n, const ActivationRow& row,
                                   Span<std::byte> scratch) noexcept {
  const quant::RowFunctions* type = quant::find(w.dtype);
  if (row.act != quant::Act::none) return type->dot_blocks(w.row(n), row.q, row.d, row.cols);
  if (w.dtype == DType::f32) return quant::dot16(reinterpret_cast<const float*>(w.row(n)), row.x, row.cols);
  auto* dequantised = reinterpret_cast<float*>(scratch.data());
  type->dequantise(w.row(n), row.cols, dequantised);
  return quant::dot16(dequantised, row.x, row.cols);
}

/// y plus element `n` of a bias that may be absent.
[[nodiscard]] inline float biased(float y, const HostWeight& bias, std::uint64_t n) noexcept {
  return bias.present() ? y + bias.f32()[n] : y;
}

/// True when a weight of `dtype` may meet activations rounded as `act` says.
[[nodiscard]] constexpr bool act_fits(DType dtype, quant::Act act) noexcept {
  if (act == quant::Act::none) return true;
  const quant::TypeFacts* type = quant::facts(dtype);
  return type != nullptr && type->act == act;
}

}  // namespace zrt::inline ZRT_ABI
